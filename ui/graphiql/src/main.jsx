// First: Monaco's workers must be known before anything asks for an editor.
import "graphiql/setup-workers/vite";

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";
import { useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import "@fontsource/roboto/latin-700.css";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./bar.css";
import "./page.css";

import { Answers, clearAnswers } from "./answers.jsx";
import { Ask } from "./ask.jsx";
import { Bar } from "./bar.jsx";
import { Characters } from "./characters.jsx";
import { CopyAsCurl } from "./copy-as-curl.jsx";
import { inWords } from "./cost.js";
import * as credentials from "./credentials.js";
import { EarlyRun } from "./early-run.jsx";
import { EXAMPLES } from "./examples.js";
import { createFetcher } from "./fetcher.js";
import { Footer } from "./footer.jsx";
import { judge, outcome, redeem, takeFromAddress } from "./link.js";
import { refusalInWords } from "./refusal.js";
import { exchange, signIn, takeAnswer } from "./signin.js";
import { endStreams } from "./streams.js";
import { useViewer } from "./viewer.js";

const PLUGINS = [explorerPlugin({ showAttribution: false }), HISTORY_PLUGIN];
const NOTICE_MS = 8000;
const IGNORED = { kind: "refused", text: "The link’s token was not taken: links sign in on this machine’s own service alone" };
// As in page.css.
const NARROW = 720;

function Page() {
  const [current, setCurrent] = useState(credentials.load);
  const [turn, setTurn] = useState(0);
  const [notice, setNotice] = useState(null);
  const [asked, setAsked] = useState(null);
  const [cost, setCost] = useState(null);
  const change = useCallback((given) => {
    credentials.save(given);
    clearAnswers();
    setCost(null);
    endStreams();
    setCurrent(credentials.load());
  }, []);
  const use = useCallback(
    async (link) => {
      const brought = link.code ? await redeem(link.code) : outcome(link, credentials.load());
      if (brought.problem) setNotice({ kind: "refused", text: brought.problem });
      else change(brought);
    },
    [change],
  );
  const receive = useCallback(
    (link) => {
      const verdict = link ? judge(link, credentials.load()) : "nothing";
      if (verdict === "ignore") setNotice(IGNORED);
      else if (verdict === "ask") setAsked(link);
      else if (verdict === "take") arriving = use(link);
    },
    [use],
  );
  const chooseOrganization = useCallback((id) => change({ ...credentials.load(), organization: id }), [change]);
  const answer = useViewer(current, turn, chooseOrganization);
  // One for the life of the page: GraphiQL would load the schema again for another one.
  const [fetcher] = useState(() =>
    createFetcher({
      arrived: () => arriving,
      onAnswer: (said) => setNotice(refusalInWords(said)),
      onCost: (said) => setCost(inWords(said)),
      onDoubt: () => setTurn((before) => before + 1),
    }),
  );

  useEffect(() => {
    receive(LINK);
    if (SIGNED_IN) {
      arriving = exchange(SIGNED_IN).then(({ token, problem }) => {
        if (problem) setNotice({ kind: "refused", text: problem });
        else change({ token, organization: credentials.load().organization });
      });
    }
    // A link opened in a tab that shows the page already changes nothing but the fragment.
    const another = () => receive(takeFromAddress());
    addEventListener("hashchange", another);
    return () => removeEventListener("hashchange", another);
  }, [receive, change]);
  useEffect(() => {
    // The browser's "back" may show the page as it was left, with what was forgotten since.
    const back = ({ persisted }) => {
      const { token, organization } = credentials.load();
      if (persisted && (token !== current.token || organization !== current.organization)) location.reload();
    };
    addEventListener("pageshow", back);
    return () => removeEventListener("pageshow", back);
  }, [current]);
  useEffect(() => {
    if (!notice) return undefined;
    const timer = setTimeout(() => setNotice(null), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [notice]);

  const leave = async () => {
    const { problem } = await signIn("graphiql", "graphql");
    if (problem) setNotice({ kind: "refused", text: problem });
  };

  return (
    <>
      <Bar
        credentials={current}
        answer={answer}
        notice={notice}
        onChange={change}
        onForget={credentials.forget}
        onSignIn={leave}
      />
      {asked && (
        <Ask
          link={asked}
          kept={current}
          viewer={answer.viewer}
          onAnswer={(isYes) => {
            setAsked(null);
            if (isYes) use(asked);
          }}
        />
      )}
      <main>
        {/* Session storage: GraphiQL would keep tabs, history and variables, which are other people's data, for good
            (decision 92). Credentials have one place, the bar, so there is no header editor. */}
        <GraphiQL
          fetcher={fetcher}
          storage={credentials.storage}
          plugins={PLUGINS}
          defaultTabs={EXAMPLES}
          defaultQuery=""
          defaultEditorToolsVisibility={innerWidth > NARROW ? "variables" : false}
          inputValueDeprecation
          isHeadersEditorEnabled={false}
          showPersistHeadersSettings={false}
        >
          <GraphiQL.Logo>{" "}</GraphiQL.Logo>
          <GraphiQL.Toolbar>
            {({ prettify, copy, merge }) => (
              <>
                {prettify}
                {merge}
                {copy}
                <CopyAsCurl onSay={(text) => setNotice({ kind: "ready", text })} />
                <Answers />
                <Characters />
                <EarlyRun />
              </>
            )}
          </GraphiQL.Toolbar>
          <GraphiQL.Footer>
            <Footer cost={cost} />
          </GraphiQL.Footer>
        </GraphiQL>
      </main>
    </>
  );
}

// What brings a credential, until it has: whoever is as quick as the button runs with it.
let arriving = Promise.resolve();
// At once, before anything else is drawn or asked for.
const LINK = takeFromAddress();
const SIGNED_IN = takeAnswer();
createRoot(document.getElementById("page")).render(<Page />);
