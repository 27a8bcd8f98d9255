import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Problem } from "./Desk";
import type { BoardQuery } from "./gql/graphql";
import { board, dealMove } from "./operations";
import { money, shortMoney } from "./words";

type Column = BoardQuery["dealBoard"]["columns"][number];
type Deal = Column["deals"]["nodes"][number];
type Move = (deal: Deal, stage: string) => void;

export function Board() {
  const { data, error } = useQuery(board);
  const [problem, setProblem] = useState<string>();
  const [send] = useMutation(dealMove, { refetchQueries: [board], awaitRefetchQueries: true });
  const move: Move = (deal, stage) => {
    setProblem(undefined);
    // Somebody else's change in the meantime is not written over: the version says what was seen.
    send({ variables: { id: deal.id, stage, version: deal.version } }).then(
      ({ data }) => setProblem(data?.dealUpdate.userErrors[0]?.message),
      (cause: Error) => setProblem(cause.message),
    );
  };
  if (error) return <Problem words={error.message} />;
  const columns = data?.dealBoard.columns ?? [];
  return (
    <>
      {problem && <Problem words={problem} />}
      <div className="board">
        {columns.map((column) => (
          <Stage key={column.stage.id} column={column} columns={columns} onMove={move} />
        ))}
      </div>
    </>
  );
}

function Stage({ column, columns, onMove }: { column: Column; columns: Column[]; onMove: Move }) {
  const [isOver, setIsOver] = useState(false);
  const { stage, dealCount, totals, deals } = column;
  return (
    <section
      aria-label={stage.name}
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        setIsOver(false);
        const dropped = columns.flatMap((one) => one.deals.nodes).find(({ id }) => id === event.dataTransfer.getData("text/plain"));
        if (dropped) onMove(dropped, stage.id);
      }}
    >
      <h2>
        {stage.name} <small>{dealCount}</small>
      </h2>
      <p className="totals">{totals.map(({ amount, currency }) => shortMoney(amount, currency)).join(" · ") || "—"}</p>
      <ul>
        {deals.nodes.map((deal) => (
          <Card key={deal.id} deal={deal} stage={stage.id} columns={columns} onMove={onMove} />
        ))}
      </ul>
      {dealCount > deals.nodes.length && <p className="more">and {dealCount - deals.nodes.length} more</p>}
    </section>
  );
}

function Card({ deal, stage, columns, onMove }: { deal: Deal; stage: string; columns: Column[]; onMove: Move }) {
  return (
    <li draggable onDragStart={(event) => event.dataTransfer.setData("text/plain", deal.id)}>
      <h3>{deal.name}</h3>
      <p>{deal.account?.name ?? "No account"}</p>
      <p className="worth">{deal.value === null || deal.value === undefined ? "No amount" : money(deal.value, deal.currency)}</p>
      <label>
        <span className="unseen">Stage of {deal.name}</span>
        <select value={stage} onChange={(event) => onMove(deal, event.target.value)}>
          {columns.map(({ stage: one }) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
    </li>
  );
}
