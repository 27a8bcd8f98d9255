import { useCallback, useEffect, useState } from "react";
import { Conversation } from "./Conversation";
import { caller, newThread, remove, rename, threads, whoAmI, type Thread, type Viewer } from "./gateway";
import { RecordPanel } from "./RecordPanel";
import type { Cited } from "./run";
import { SignIn } from "./SignIn";
import { Threads } from "./Threads";

/** The page: who asks, the threads, the one that is open, and the record that was looked up. */
export function App() {
  const [viewer, setViewer] = useState<Viewer | null>(null);
  const [list, setList] = useState<Thread[]>([]);
  const [open, setOpen] = useState<string | null>(() => sessionStorage.getItem("crm-gateway:thread"));
  const [shown, setShown] = useState<Cited | null>(null);
  const [isListShown, setListShown] = useState(false);
  // Another conversation has another key; one that has just got its thread stays the one it is.
  const [key, setKey] = useState(0);
  const [status, setStatus] = useState("");
  const [refusal, setRefusal] = useState("");

  const refresh = useCallback(async () => {
    try {
      setList(await threads());
    } catch (error) {
      setRefusal((error as Error).message);
    }
  }, []);

  const enter = useCallback(async () => {
    setRefusal("");
    try {
      const found = await whoAmI();
      await refresh();
      setViewer(found);
    } catch (error) {
      setRefusal((error as Error).message);
    }
  }, [refresh]);

  useEffect(() => {
    if (caller.token) void enter();
  }, [enter]);

  const keep = (id: string | null) => {
    setOpen(id);
    if (id) sessionStorage.setItem("crm-gateway:thread", id);
    else sessionStorage.removeItem("crm-gateway:thread");
  };

  const choose = (id: string | null) => {
    keep(id);
    setKey(key + 1);
    setListShown(false);
  };

  /** Does something to the threads, and says why where it is refused. */
  const change = async (work: () => Promise<unknown>) => {
    setRefusal("");
    try {
      await work();
    } catch (error) {
      setRefusal((error as Error).message);
    }
    await refresh();
  };

  const leave = () => {
    caller.leave();
    choose(null);
    setViewer(null);
    setList([]);
  };

  if (!viewer) return <SignIn refusal={refusal} enter={enter} />;
  const thread = list.find(({ id }) => id === open) ?? null;
  return (
    <div className="page">
      <header>
        <button className="menu" aria-expanded={isListShown} aria-controls="threads" onClick={() => setListShown(!isListShown)}>
          Threads
        </button>
        <h1>{thread?.title ?? "CRM chat"}</h1>
        <span className="who">
          {viewer.name ?? viewer.subject}
          {viewer.organization && `, ${viewer.organization.name}`}
        </span>
        <button onClick={leave}>Sign out</button>
      </header>
      <Threads
        list={list}
        open={thread?.id ?? null}
        isShown={isListShown}
        choose={choose}
        begin={() => choose(null)}
        rename={(id, title) => change(() => rename(id, title))}
        remove={(id) =>
          change(async () => {
            await remove(id);
            if (id === open) choose(null);
          })
        }
      />
      <main>
        {refusal && (
          <p className="error" role="alert">
            {refusal}
          </p>
        )}
        <Conversation
          key={key}
          thread={thread}
          begin={newThread}
          begun={(id) => sessionStorage.setItem("crm-gateway:thread", id)}
          ended={(id) => void refresh().then(() => keep(id))}
          tell={setStatus}
          show={setShown}
        />
      </main>
      <p className="status" role="status">
        {status}
      </p>
      {shown && <RecordPanel cited={shown} close={() => setShown(null)} />}
    </div>
  );
}
