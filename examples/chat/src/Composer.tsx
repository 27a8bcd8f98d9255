import { useEffect, useRef, useState } from "react";

interface Props {
  isAnswering: boolean;
  say: (text: string) => Promise<void>;
  stop: () => void;
}

/** The field for a message: Enter sends it, Shift and Enter begin a new line. */
export function Composer({ isAnswering, say, stop }: Props) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);

  useEffect(() => {
    if (!isAnswering) field.current?.focus();
  }, [isAnswering]);

  const submit = () => {
    const trimmed = text.trim();
    if (!trimmed || isAnswering) return;
    setText("");
    void say(trimmed);
  };

  return (
    <form
      className="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
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
            submit();
          }
        }}
      />
      {isAnswering ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button className="primary" disabled={!text.trim()}>
          Send
        </button>
      )}
    </form>
  );
}
