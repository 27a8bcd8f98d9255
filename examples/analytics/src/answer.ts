import type { Chart, Column, Result, Statement, Step, Value } from "./answers";
import { draw } from "./chart";
import { element } from "./dom";
import { figureOf, tableOf } from "./rows";

export interface Actions {
  /** Asks a question in the conversation. */
  ask(question: string): void;
  /** Runs an edited statement; rejects with the refusal. */
  run(sql: string): Promise<void>;
}

const ENDS = {
  succeeded: "",
  declined: "Declined.",
  failed: "Failed.",
  cancelled: "Cancelled.",
  timed_out: "Timed out.",
  interrupted: "Interrupted: the service that worked on it has ended. Ask again.",
};

/** One answer on the page, which grows with every step of it. */
export class Answer {
  readonly element: HTMLElement;
  private readonly slots = {
    plan: element("div"),
    sql: element("div"),
    words: element("div", { class: "words" }),
    chart: element("div"),
    rows: element("div"),
  };
  private readonly steps = element("ol");
  private readonly began = performance.now();
  private columns: Column[] = [];
  private rows: Value[][] = [];

  constructor(
    question: string,
    private readonly actions: Actions,
  ) {
    const heading = element("h2", { tabindex: "-1" }, question);
    const steps = element("details", { class: "steps" }, element("summary", {}, "Steps"), this.steps);
    this.element = element("article", { "aria-label": question, "aria-busy": "true" }, heading);
    this.element.append(...Object.values(this.slots), steps);
  }

  /** Shows a step. Tells in words what has become known by it, where there is something to tell. */
  show(step: Step): string | undefined {
    const after = Math.round(performance.now() - this.began);
    this.steps.append(element("li", {}, element("code", {}, step.kind), ` ${after} ms`));
    switch (step.kind) {
      case "run_started":
        return "The question is read.";
      case "plan":
        this.showPlan(step.data);
        return;
      case "sql":
        this.showStatement(step.data);
        return;
      case "columns":
        this.columns = step.data.columns;
        this.slots.rows.replaceChildren(tableOf(this.columns, []));
        return;
      case "rows":
        this.rows.push(...step.data.rows);
        this.slots.rows.replaceChildren(tableOf(this.columns, this.rows));
        return;
      case "chart":
        this.showChart(step.data);
        return;
      case "explanation":
        return this.say(step.data.text);
      case "notice":
        return this.say(step.data.message, "notice");
      case "error":
        return this.refuse(step.data.message);
      case "run_finished":
        return this.finish(step.data);
    }
  }

  /** Shows what a statement came to, as the same steps. */
  showResult({ columns, rows, sql, chart, truncated }: Result): void {
    this.show({ id: 1, kind: "sql", data: sql });
    this.show({ id: 2, kind: "columns", data: { columns } });
    this.show({ id: 3, kind: "rows", data: { offset: 0, rows } });
    this.show({ id: 4, kind: "chart", data: chart });
    const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
    this.say(truncated ? `The first ${count}: there is more.` : `${count}.`, truncated ? "notice" : "");
    this.element.removeAttribute("aria-busy");
  }

  /** Shows why there is no answer. */
  refuse(message: string): string {
    this.element.removeAttribute("aria-busy");
    return this.say(message, "error");
  }

  private say(words: string, kind = ""): string {
    this.slots.words.append(element("p", { class: kind }, words));
    return words;
  }

  private showPlan({ planner, query, assumptions }: Extract<Step, { kind: "plan" }>["data"]): void {
    const details = element("details", {}, element("summary", {}, `Read by the ${planner}`));
    details.append(element("pre", { tabindex: "0", role: "region", "aria-label": "Query" }, JSON.stringify(query, null, 2)));
    this.slots.plan.append(...assumptions.map((words) => element("p", { class: "assumption" }, `Assumed: ${words}`)), details);
  }

  private showStatement(statement: Statement): void {
    const edit = element("button", { type: "button", onclick: () => this.edit(statement.text) }, "Edit");
    const summary = element("summary", {}, ["SQL", statement.dialect, ...statement.filters].join(" · "));
    const text = element("pre", { tabindex: "0", role: "region", "aria-label": "SQL" }, statement.text);
    this.slots.sql.replaceChildren(element("details", { open: true, class: "sql" }, summary, text, edit));
  }

  private edit(sql: string): void {
    const text = element("textarea", { "aria-label": "SQL", rows: "12", spellcheck: "false" });
    text.value = sql;
    const refusal = element("p", { class: "error", role: "alert" });
    const run = element("button", {}, "Run");
    const submit = async (event: Event) => {
      event.preventDefault();
      run.disabled = true;
      refusal.textContent = "";
      await this.actions.run(text.value).catch((error: Error) => {
        refusal.textContent = error.message;
        text.focus();
      });
      run.disabled = false;
    };
    this.slots.sql.replaceChildren(element("form", { class: "sql", onsubmit: submit }, text, run, refusal));
    text.focus();
  }

  private showChart({ kind, spec }: Chart): void {
    if (kind === "number" && this.rows.length > 0) {
      this.slots.rows.replaceChildren(figureOf(this.columns, this.rows));
    } else if (spec && this.rows.length > 0) {
      const label = `Chart: ${String(spec.title)}. The rows below have its figures.`;
      const frame = element("div", { class: "chart", role: "img", "aria-label": label });
      this.slots.chart.replaceChildren(frame);
      draw(frame, spec, this.columns, this.rows).catch(() => frame.replaceChildren("The chart could not be drawn."));
    }
  }

  private finish({ status, unread, suggestions }: Extract<Step, { kind: "run_finished" }>["data"]): string | undefined {
    this.element.removeAttribute("aria-busy");
    if (status === "succeeded") return;
    const words = unread.length > 0 ? ` Not understood: ${unread.join(", ")}.` : "";
    const said = this.say(ENDS[status] + words, status === "declined" ? "notice" : "error");
    const asked = suggestions.map((one) => element("button", { type: "button", onclick: () => this.actions.ask(one) }, one));
    if (asked.length > 0) this.slots.words.append(element("p", { class: "suggestions" }, "Ask instead: ", ...asked));
    return said;
  }
}
