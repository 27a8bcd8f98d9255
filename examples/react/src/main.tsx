import { ApolloProvider } from "@apollo/client/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { type Caller, clientOf, kept } from "./client";
import { Desk } from "./Desk";
import { SignIn } from "./SignIn";
import "./page.css";

function Page() {
  const [caller, setCaller] = useState(kept.load);
  const [isRefused, setIsRefused] = useState(false);
  const signIn = (given: Caller) => {
    kept.save(given);
    setIsRefused(false);
    setCaller(given);
  };
  const signOut = () => {
    kept.forget();
    setCaller(null);
  };
  const refuse = () => {
    setIsRefused(true);
    signOut();
  };
  if (!caller) return <SignIn isRefused={isRefused} onSignIn={signIn} />;
  return <SignedIn key={caller.token + caller.organization} caller={caller} onSignOut={signOut} onRefused={refuse} />;
}

interface SignedInProps {
  caller: Caller;
  onSignOut: () => void;
  onRefused: () => void;
}

function SignedIn({ caller, onSignOut, onRefused }: SignedInProps) {
  const [made, setMade] = useState<ReturnType<typeof clientOf>>();
  const [isLive, setIsLive] = useState(false);
  useEffect(() => {
    const own = clientOf(caller, setIsLive, onRefused);
    setMade(own);
    return () => {
      own.client.stop();
      own.close();
    };
  }, [caller]);
  if (!made) return null;
  return (
    <ApolloProvider client={made.client}>
      <Desk isLive={isLive} onSignOut={onSignOut} />
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
