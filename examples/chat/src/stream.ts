// A run's events, each once and in order, however often the connection breaks.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { events } from "./gateway";
import type { RunEvent } from "./run";

const RETRY_MS = 1000;
const RETRIES = 60;

/**
 * Tells the events of a run: those of an answer that is there already, and then those behind the last one that was seen.
 * Ends with `run_finished`. A reader who leaves ends nothing, so it can be followed again later.
 */
export async function* follow(run: string | null, answer: Response | null, leave: AbortSignal): AsyncGenerator<RunEvent> {
  let last: string | null = null;
  run ??= answer?.headers.get("X-Chat-Run") ?? null;
  for (let retries = 0; retries < RETRIES && !leave.aborted; retries++) {
    try {
      if (!answer && run) answer = await events(run, last);
      for await (const event of eventsOf(answer!, leave)) {
        last = event.id;
        retries = 0;
        yield event;
        if (event.type === "run_finished") return;
      }
    } catch (error) {
      if (leave.aborted) return;
      if (!(error instanceof TypeError)) throw error; // which is what fetch says of a connection that broke
    }
    if (!run) break;
    answer = null;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function* eventsOf(answer: Response, leave: AbortSignal): AsyncGenerator<RunEvent> {
  const reader = answer
    .body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  const stop = () => void reader.cancel();
  leave.addEventListener("abort", stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || leave.aborted) return;
      if (value.id && value.event) {
        yield { id: value.id, sequence: Number(value.id.split(".").at(-1)), type: value.event, data: JSON.parse(value.data) };
      }
    }
  } finally {
    leave.removeEventListener("abort", stop);
    void reader.cancel().catch(() => {});
  }
}
