// First: Monaco's workers must be known before anything asks for an editor.
import "graphiql/setup-workers/vite";

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";
import { useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./page.css";

import { Bar } from "./bar.jsx";
import { CopyAsCurl } from "./copy-as-curl.jsx";
import * as credentials from "./credentials.js";
import { EXAMPLES } from "./examples.js";
import { createFetcher } from "./fetcher.js";
import { refusalInWords } from "./refusal.js";
import { endStreams } from "./streams.js";
import { useViewer } from "./viewer.js";

const PLUGINS = [explorerPlugin({ showAttribution: false }), HISTORY_PLUGIN];
const NOTICE_MS = 8000;
// As in page.css.
const NARROW = 720;

function Page() {
  const [current, setCurrent] = useState(credentials.load);
  const [turn, setTurn] = useState(0);
  const [notice, setNotice] = useState(null);
  const change = useCallback((given) => {
    credentials.save(given);
    endStreams();
    setCurrent(credentials.load());
  }, []);
  const chooseOrganization = useCallback((id) => change({ ...credentials.load(), organization: id }), [change]);
  const answer = useViewer(current, turn, chooseOrganization);
  // One for the life of the page: GraphiQL would load the schema again for another one.
  const [fetcher] = useState(() =>
    createFetcher({
      onAnswer: (said) => setNotice(refusalInWords(said)),
      onDoubt: () => setTurn((before) => before + 1),
    }),
  );

  useEffect(() => {
    if (!notice) return undefined;
    const timer = setTimeout(() => setNotice(null), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [notice]);

  return (
    <>
      <Bar credentials={current} answer={answer} notice={notice} onChange={change} />
      <main>
        {/* Session storage: GraphiQL would keep tabs, history and variables, which are other people's data, for good
            (decision 92). Credentials have one place, the bar, so there is no header editor. */}
        <GraphiQL
          fetcher={fetcher}
          storage={sessionStorage}
          plugins={PLUGINS}
          defaultTabs={EXAMPLES}
          defaultQuery=""
          defaultEditorToolsVisibility={innerWidth > NARROW ? "variables" : false}
          inputValueDeprecation
          isHeadersEditorEnabled={false}
          showPersistHeadersSettings={false}
        >
          <GraphiQL.Logo>{" "}</GraphiQL.Logo>
          <GraphiQL.Toolbar>
            {({ prettify, copy, merge }) => (
              <>
                {prettify}
                {merge}
                {copy}
                <CopyAsCurl onSay={(text) => setNotice({ kind: "ready", text })} />
              </>
            )}
          </GraphiQL.Toolbar>
        </GraphiQL>
      </main>
    </>
  );
}

credentials.takeFromAddress();
// A ready link opened in a tab that already shows the page changes nothing but the fragment.
addEventListener("hashchange", () => location.hash.length > 1 && location.reload());
createRoot(document.getElementById("page")).render(<Page />);
