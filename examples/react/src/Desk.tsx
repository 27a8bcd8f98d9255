import { useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Board } from "./Board";
import { useNews } from "./live";
import { Meetings } from "./Meetings";
import { whoAmI } from "./operations";

const VIEWS = { Board, Meetings };

export function Desk({ isLive, onSignOut }: { isLive: boolean; onSignOut: () => void }) {
  const [view, setView] = useState<keyof typeof VIEWS>("Board");
  const { data, error } = useQuery(whoAmI);
  const View = VIEWS[view];
  return (
    <>
      <header>
        <h1>Sales desk</h1>
        <nav>
          {(Object.keys(VIEWS) as (keyof typeof VIEWS)[]).map((name) => (
            <button key={name} type="button" aria-current={view === name ? "page" : undefined} onClick={() => setView(name)}>
              {name}
            </button>
          ))}
        </nav>
        <p className="who">
          {data && `${data.viewer.name ?? data.viewer.subject} · ${data.viewer.organization?.name ?? "no organization"}`}
        </p>
        <button type="button" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      {error ? <Problem words={error.message} /> : <main>{data && <View />}</main>}
      {data?.viewer.organization && <News isLive={isLive} />}
    </>
  );
}

function News({ isLive }: { isLive: boolean }) {
  const { latest, problem } = useNews();
  return (
    <footer role="status">
      <span className="lamp" data-on={isLive && !problem} aria-hidden="true" />
      {problem ?? (isLive ? (latest ?? "Live: what happens is shown here") : "Not live: connecting")}
    </footer>
  );
}

export function Problem({ words }: { words: string }) {
  return (
    <p className="problem" role="alert">
      {words}
    </p>
  );
}
