import { useEffect, useRef, useState } from "react";

interface Props {
  isAnswering: boolean;
  say: (text: string) => Promise<boolean>;
  stop: () => Promise<boolean>;
}

/** The field for a message: Enter sends it, Shift and Enter begin a new line. */
export function Composer({ isAnswering, say, stop }: Props) {
  const [text, setText] = useState("");
  const [isStopping, setStopping] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);

  useEffect(() => {
    setStopping(false);
    if (!isAnswering) field.current?.focus();
  }, [isAnswering]);

  const submit = async () => {
    const trimmed = text.trim();
    if (!trimmed || isAnswering) return;
    setText("");
    // What was refused is there to be sent again.
    if (!(await say(trimmed))) setText((typed) => typed || trimmed);
  };

  return (
    <form
      className="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        placeholder="Ask, or note something"
        rows={Math.min(6, text.split("\n").length)}
        maxLength={8000}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void submit();
          }
        }}
      />
      {isAnswering ? (
        <button
          type="button"
          disabled={isStopping}
          onClick={() => {
            setStopping(true);
            void stop().then(setStopping);
          }}
        >
          {isStopping ? "Stopping …" : "Stop"}
        </button>
      ) : (
        <button className="primary" disabled={!text.trim()}>
          Send
        </button>
      )}
    </form>
  );
}
