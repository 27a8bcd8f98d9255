import { useQuery } from "@apollo/client/react";
import { Problem } from "./Desk";
import { meetings } from "./operations";
import { clock, day } from "./words";

export function Meetings() {
  const { data, error, loading, fetchMore } = useQuery(meetings);
  if (error) return <Problem words={error.message} />;
  if (!data) return null;
  const { nodes, pageInfo } = data.meetings;
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
        <button type="button" disabled={loading} onClick={() => void fetchMore({ variables: { after: pageInfo.endCursor } })}>
          Further meetings
        </button>
      )}
    </div>
  );
}
