import { Answer } from "./answer";
import { element, byId } from "./dom";
import { ask, caller, examples, runStatement, viewer } from "./gateway";
import "./page.css";

const conversation = byId("conversation");
const question = byId<HTMLInputElement>("question");
const anew = byId<HTMLButtonElement>("anew");
const status = byId("status");
const who = byId("who");

const EXAMPLES = 6;

/** The conversation that the next question follows up. */
let conversationId: string | null = null;

/** One question after the other: the next one follows up what this one is answered with. */
let asking = Promise.resolve();
const begin = (words: string) => (asking = asking.then(() => answered(words)));

async function answered(words: string): Promise<void> {
  const answer = added(words);
  status.textContent = "Asking …";
  try {
    for await (const step of ask(words, conversationId)) {
      if (step.kind === "run_started") {
        conversationId = step.data.conversation_id;
        anew.hidden = false;
      }
      status.textContent = answer.show(step) ?? status.textContent;
    }
  } catch (error) {
    status.textContent = answer.refuse((error as Error).message);
  }
  answer.element.scrollIntoView({ block: "nearest" });
}

async function run(sql: string): Promise<void> {
  const result = await runStatement(sql);
  const answer = added("Your SQL");
  answer.showResult(result);
  answer.element.querySelector("h2")!.focus();
  status.textContent = `${result.row_count} rows.`;
}

function added(title: string): Answer {
  const answer = new Answer(title, { ask: (words) => void begin(words), run });
  conversation.append(answer.element);
  answer.element.scrollIntoView({ block: "start" });
  return answer;
}

/** The examples are gone with the first answer, and the focus must not be. */
function begun(words: string): void {
  question.focus();
  void begin(words);
}

/** Who asks, and what can be asked by them. */
async function signIn(): Promise<void> {
  if (!caller.token) return;
  try {
    const [{ name, subject, organization }, questions] = await Promise.all([viewer(), examples()]);
    who.textContent = [name ?? subject, organization?.name].filter(Boolean).join(", ");
    byId("examples").replaceChildren(
      ...questions.slice(0, EXAMPLES).map((one) => element("button", { type: "button", onclick: () => begun(one) }, one)),
    );
  } catch (error) {
    who.textContent = (error as Error).message;
  }
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  void begin(question.value);
  question.value = "";
});

anew.addEventListener("click", () => {
  conversationId = null;
  conversation.replaceChildren();
  anew.hidden = true;
  question.focus();
});

const form = byId<HTMLFormElement>("caller");
const fields = form.elements as unknown as { token: HTMLInputElement; organization: HTMLInputElement };
fields.token.value = caller.token;
fields.organization.value = caller.organization;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", () => {
  caller.keep(fields.token.value, fields.organization.value);
  void signIn();
});
void signIn();
