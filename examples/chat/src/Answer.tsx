import { useState } from "react";
import { Proposal } from "./Proposal";
import type { Message } from "./gateway";
import { after, isWaiting, NOTHING, textOf, type Cited, type Run } from "./run";
import { follow } from "./stream";
import { Prose } from "./Prose";
import { ToolCall } from "./ToolCall";

const ENDS: Record<string, string> = { cancelled: "Stopped.", failed: "This answer could not be finished." };

/** An answer as it comes: the tools that were asked, the text, the writes that wait. */
export function Answer({ run, show }: { run: Run; show: (cited: Cited) => void }) {
  const text = textOf(run);
  return (
    <article className="answer" aria-label="Answer" aria-busy={run.status === "running"}>
      <Steps run={run} show={show} />
      {text && <Prose text={text} citations={run.citations} show={show} />}
      {run.approvals.map((approval) => (
        <Proposal key={approval.id} approval={approval} show={show} />
      ))}
      {run.status === "running" && !isWaiting(run) && (
        <p className="dots" aria-hidden="true">
          <span />
          <span />
          <span />
        </p>
      )}
      {run.notices.map((notice) => (
        <p key={notice} className="notice">
          {notice}
        </p>
      ))}
      {run.error ? <p className="error">{run.error}</p> : ENDS[run.status] && <p className="soft">{ENDS[run.status]}</p>}
    </article>
  );
}

/** An answer of before, whose steps are read when somebody wants to see them. */
export function Kept({ message, show }: { message: Message; show: (cited: Cited) => void }) {
  const [run, setRun] = useState<Run | null>(null);
  const [refusal, setRefusal] = useState("");

  const unfold = async () => {
    if (run || refusal || !message.run_id) return;
    let seen = NOTHING;
    try {
      for await (const event of follow(message.run_id, null, new AbortController().signal)) seen = after(seen, event);
      setRun(seen);
    } catch (error) {
      setRefusal((error as Error).message);
    }
  };

  return (
    <article className="answer" aria-label="Answer">
      <Prose text={message.text} citations={message.citations} show={show} />
      {message.run_id && (
        <details onToggle={(event) => event.currentTarget.open && void unfold()}>
          <summary>How this was answered</summary>
          {run && (run.tools.length ? <Steps run={run} show={show} /> : <p className="soft">No tool was asked.</p>)}
          {run?.approvals.map((approval) => <Proposal key={approval.id} approval={approval} show={show} />)}
          {refusal && <p className="soft">{refusal}</p>}
        </details>
      )}
    </article>
  );
}

function Steps({ run, show }: { run: Run; show: (cited: Cited) => void }) {
  return run.tools.map((tool) => <ToolCall key={tool.id} tool={tool} show={show} />);
}
