// Of each operation the answers that tell of errors are folded: they are nearly the same everywhere.
export function foldedErrors({ React }) {
  const { createElement: made, useState } = React;
  const responses = (Original) =>
    function FoldedErrors(props) {
      const [isOpen, setIsOpen] = useState(false);
      const count = props.responses.keySeq().filter((status) => /^[45]/.test(status)).count();
      const words = `${isOpen ? "Hide" : "Show"} the ${count} answers that tell of an error`;
      const button = made(
        "button",
        { type: "button", className: "errors-button", "aria-expanded": isOpen, onClick: () => setIsOpen(!isOpen) },
        words,
      );
      return made("div", { className: isOpen ? "" : "errors-folded" }, made(Original, props), count > 0 && button);
    };
  return { wrapComponents: { responses } };
}
