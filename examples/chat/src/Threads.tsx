import { useState } from "react";
import type { Thread } from "./gateway";

interface Props {
  list: Thread[];
  open: string | null;
  isShown: boolean;
  choose: (id: string) => void;
  begin: () => void;
  rename: (id: string, title: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

/** The member's threads, the newest first. */
export function Threads({ list, open, isShown, choose, begin, rename, remove }: Props) {
  const [renamed, setRenamed] = useState<string | null>(null);
  return (
    <nav id="threads" className={isShown ? "shown" : ""} aria-label="Threads">
      <button className="primary" onClick={begin}>
        New thread
      </button>
      {list.length === 0 && <p className="soft">Your threads will be here.</p>}
      <ul>
        {list.map((thread) => (
          <li key={thread.id} aria-current={thread.id === open ? "page" : undefined}>
            {renamed === thread.id ? (
              <form
                onSubmit={(event) => {
                  event.preventDefault();
                  const title = String(new FormData(event.currentTarget).get("title")).trim();
                  setRenamed(null);
                  void rename(thread.id, title);
                }}
              >
                <input
                  name="title"
                  aria-label="Title"
                  maxLength={200}
                  defaultValue={thread.title ?? ""}
                  autoFocus
                  onKeyDown={(event) => event.key === "Escape" && setRenamed(null)}
                  onBlur={() => setRenamed(null)}
                />
              </form>
            ) : (
              <>
                <button className="thread" onClick={() => choose(thread.id)}>
                  {thread.title ?? "Untitled"}
                  {thread.active_run_id && <span className="soft"> · answering</span>}
                </button>
                <button className="small" aria-label={`Rename ${thread.title ?? "Untitled"}`} onClick={() => setRenamed(thread.id)}>
                  ✎
                </button>
                <button
                  className="small"
                  aria-label={`Delete ${thread.title ?? "Untitled"}`}
                  onClick={() => confirm("Delete this thread? Records that it wrote stay.") && void remove(thread.id)}
                >
                  ✕
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}
