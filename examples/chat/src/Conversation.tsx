import { useCallback, useEffect, useRef, useState } from "react";
import { Answer, Kept } from "./Answer";
import { Composer } from "./Composer";
import { cancel, messages, send, type Message, type Thread } from "./gateway";
import { after, isWaiting, NOTHING, textOf, type Cited, type Run } from "./run";
import { follow } from "./stream";

const EXAMPLES = ["My open deals", "Meetings this week", "What changed since Monday?", "What can you do?"];

interface Props {
  thread: Thread | null;
  begin: () => Promise<Thread>;
  begun: (id: string) => void;
  ended: (id: string) => void;
  tell: (status: string) => void;
  show: (cited: Cited) => void;
}

/** One thread: what was said, the answer that is coming, and the field for the next message. */
export function Conversation({ thread, begin, begun, ended, tell, show }: Props) {
  const [said, setSaid] = useState<Message[]>([]);
  const [asked, setAsked] = useState<string | null>(null);
  const [run, setRun] = useState<Run | null>(null);
  const [refusal, setRefusal] = useState("");
  const leaving = useRef(new AbortController());
  const end = useRef<HTMLDivElement>(null);

  /** Follows a run to its end, from its first event or from the answer that is there. */
  const watch = useCallback(async (id: string | null, answer: Response | null, signal: AbortSignal) => {
    let seen: Run = { ...NOTHING, id: id ?? answer?.headers.get("X-Chat-Run") ?? null }; // so that it can be stopped at once
    setRun(seen);
    tell("Answering …");
    for await (const event of follow(id, answer, signal)) {
      seen = after(seen, event);
      setRun(seen);
      if (isWaiting(seen)) tell("A change waits for your decision.");
    }
    return seen;
  }, []);

  const finish = useCallback(async (id: string, seen: Run) => {
    tell(seen.error ?? textOf(seen));
    setSaid(await messages(id));
    setAsked(null);
    // What failed has no message of its own, or only the beginning of one.
    setRun(seen.status === "succeeded" ? null : seen);
  }, []);

  // What was said before; and the run that a reload, or another tab, left under way.
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    if (thread) {
      void (async () => {
        try {
          setSaid(await messages(thread.id));
          if (thread.active_run_id) {
            const seen = await watch(thread.active_run_id, null, controller.signal);
            if (!controller.signal.aborted) await finish(thread.id, seen);
          }
        } catch (error) {
          setRefusal((error as Error).message);
        }
      })();
    }
    return () => controller.abort();
    // The thread of this conversation never changes: another one has another key.
  }, []);

  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [said, run, asked]);

  /** Sends a message and follows its answer; whether it was sent. */
  const say = async (text: string): Promise<boolean> => {
    const { signal } = leaving.current;
    setRefusal("");
    setAsked(text);
    setRun(NOTHING);
    let isSent = false;
    try {
      const id = thread?.id ?? (await begin()).id;
      begun(id);
      const answer = await send(id, text);
      isSent = true;
      const seen = await watch(null, answer, signal);
      if (signal.aborted) return isSent;
      await finish(id, seen);
      ended(id);
    } catch (error) {
      setRefusal((error as Error).message);
      setAsked(null);
      setRun(null);
    }
    return isSent;
  };

  /** Asks for the run's end; whether it was asked for. */
  const stop = async (): Promise<boolean> => {
    if (!run?.id) return false;
    try {
      await cancel(run.id);
      tell("Stopping …");
      return true;
    } catch (error) {
      setRefusal((error as Error).message);
      return false;
    }
  };

  const isAnswering = run?.status === "running";
  return (
    <>
      <section className="conversation" aria-label="Conversation">
        {!said.length && !asked && (
          <div className="empty">
            <h2>What would you like to know?</h2>
            <p className="examples">
              {EXAMPLES.map((example) => (
                <button key={example} onClick={() => void say(example)}>
                  {example}
                </button>
              ))}
            </p>
          </div>
        )}
        {said.map((message) =>
          message.role === "user" ? (
            <Question key={message.id} text={message.text} />
          ) : message.run_id !== run?.id ? (
            <Kept key={message.id} message={message} show={show} />
          ) : null,
        )}
        {asked !== null && !said.some(({ run_id, role }) => role === "user" && run_id !== null && run_id === run?.id) && (
          <Question text={asked} />
        )}
        {run && <Answer run={run} show={show} />}
        {refusal && (
          <p className="error" role="alert">
            {refusal}
          </p>
        )}
        <div ref={end} />
      </section>
      <Composer isAnswering={isAnswering} say={say} stop={stop} />
    </>
  );
}

function Question({ text }: { text: string }) {
  return (
    <article className="question" aria-label="You">
      <p>{text}</p>
    </article>
  );
}
