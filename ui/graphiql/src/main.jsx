// First: Monaco's workers must be known before anything asks for an editor.
import "graphiql/setup-workers/vite";

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";
import { useState } from "react";
import { createRoot } from "react-dom/client";

import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./page.css";

import { Bar } from "./bar.jsx";
import * as credentials from "./credentials.js";
import { createFetcher } from "./fetcher.js";

const EXPLORER = explorerPlugin({ showAttribution: false });
const PLUGINS = [EXPLORER, HISTORY_PLUGIN];

// Short lines: the editor is narrow while a panel is open.
const FIRST_QUERY = `# Five meetings and their accounts
#
# Ctrl-Enter     run
# Ctrl-Space     suggest fields
# at the left    docs, field picker

{
  meetings(first: 5) {
    nodes {
      subject
      account {
        name
      }
    }
  }
}
`;

function Page() {
  const [current, setCurrent] = useState(credentials.load);
  const [refused, setRefused] = useState(false);
  // One for the life of the page: GraphiQL would load the schema again for another one.
  const [fetcher] = useState(() =>
    createFetcher((status) => setRefused(status === 401 && credentials.load().token !== "")),
  );

  function change(given) {
    credentials.save(given);
    setCurrent(credentials.load());
    setRefused(false);
  }

  return (
    <>
      <Bar credentials={current} onChange={change} refused={refused} />
      <main>
        {/* Credentials have one place, the bar: the header editor's contents would be kept in local storage
            with the history of operations. */}
        <GraphiQL
          fetcher={fetcher}
          plugins={PLUGINS}
          defaultQuery={FIRST_QUERY}
          inputValueDeprecation
          isHeadersEditorEnabled={false}
          showPersistHeadersSettings={false}
        >
          <GraphiQL.Logo>{" "}</GraphiQL.Logo>
        </GraphiQL>
      </main>
    </>
  );
}

credentials.takeFromAddress();
// A ready link opened in a tab that already shows the page changes nothing but the fragment.
addEventListener("hashchange", () => location.hash.length > 1 && location.reload());
createRoot(document.getElementById("page")).render(<Page />);
