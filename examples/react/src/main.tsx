import { ApolloProvider } from "@apollo/client/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { type Caller, clientOf, kept } from "./client";
import { Desk } from "./Desk";
import { SignIn } from "./SignIn";
import "./page.css";

function Page() {
  const [caller, setCaller] = useState(kept.load);
  const signIn = (given: Caller) => {
    kept.save(given);
    setCaller(given);
  };
  const signOut = () => {
    kept.forget();
    setCaller(null);
  };
  return caller ? <SignedIn key={caller.token + caller.organization} caller={caller} onSignOut={signOut} /> : <SignIn onSignIn={signIn} />;
}

function SignedIn({ caller, onSignOut }: { caller: Caller; onSignOut: () => void }) {
  const [made, setMade] = useState<ReturnType<typeof clientOf>>();
  useEffect(() => {
    const own = clientOf(caller, () => void own.client.refetchQueries({ include: "active" }));
    setMade(own);
    return () => {
      own.client.stop();
      own.close();
    };
  }, [caller]);
  if (!made) return null;
  return (
    <ApolloProvider client={made.client}>
      <Desk onSignOut={onSignOut} />
    </ApolloProvider>
  );
}

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
