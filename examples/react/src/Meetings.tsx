import { useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Problem } from "./Desk";
import { meetings } from "./operations";
import { clock, day } from "./words";

const PAGE = 20;
/** The gateway answers at most so many nodes of a list at once. */
const MOST = 200;

export function Meetings() {
  // What is shown is what a look at the news asks for again: pages that were read on to stay.
  const [shown, setShown] = useState(PAGE);
  const { data, error, loading, fetchMore } = useQuery(meetings, { variables: { first: shown } });
  if (error) return <Problem words={error.message} />;
  if (!data) return null;
  const { nodes, pageInfo } = data.meetings;
  const readOn = async () => {
    await fetchMore({ variables: { first: PAGE, after: pageInfo.endCursor } });
    setShown(Math.min(nodes.length + PAGE, MOST));
  };
  const days = Map.groupBy(nodes, ({ dueAt }) => (dueAt ? day(dueAt) : "Without a time"));
  return (
    <div className="meetings">
      {nodes.length === 0 && <p>No meetings lie ahead.</p>}
      {[...days].map(([name, held]) => (
        <section key={name} aria-label={name}>
          <h2>{name}</h2>
          <ul>
            {held.map(({ id, subject, dueAt, durationMinutes, account, contact, owner }) => (
              <li key={id}>
                <time dateTime={dueAt ?? undefined}>{dueAt && clock(dueAt)}</time>
                <div>
                  <h3>{subject}</h3>
                  <p>
                    {[
                      account?.name,
                      contact && [contact.firstName, contact.lastName].filter(Boolean).join(" "),
                      durationMinutes && `${durationMinutes} minutes`,
                      owner?.name,
                    ]
                      .filter(Boolean)
                      .join(" · ")}
                  </p>
                </div>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {pageInfo.hasNextPage && (
        <button type="button" disabled={loading} onClick={() => void readOn()}>
          Further meetings
        </button>
      )}
    </div>
  );
}
