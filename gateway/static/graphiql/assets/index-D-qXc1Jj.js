import{a as e}from"./rolldown-runtime-BWaJ3C7D.js";import{_ as t,_r as n,a as r,c as i,d as a,g as o,gr as s,h as c,i as l,l as u,n as d,p as f,r as p,t as ee}from"./graphiql-CKGXxuKi.js";var m=e(s(),1),h=r(),g=()=>{};function te(){g()}function ne(){let{responseEditor:e,tabs:t}=u(o(`responseEditor`,`tabs`));return(0,m.useEffect)(()=>(g=()=>{for(let e of t)e.response=null;e?.setValue(``)},()=>{g=()=>{}}),[e,t]),null}var _=`crm-gateway:token`,v=`crm-gateway:organization`,re=/^(?:crm-gateway|graphiql):/,y=!1,b={getItem:e=>sessionStorage.getItem(e),setItem:(e,t)=>y||sessionStorage.setItem(e,t),removeItem:e=>sessionStorage.removeItem(e),clear:()=>sessionStorage.clear(),get length(){return sessionStorage.length}};function x(){return{token:sessionStorage.getItem(_)??``,organization:sessionStorage.getItem(v)??``}}function ie({token:e,organization:t}){w(_,T(e)),w(v,T(t))}function S(){y=!0;for(let e of Object.keys(sessionStorage))re.test(e)&&sessionStorage.removeItem(e);location.reload()}function C(){let{token:e,organization:t}=x(),n={};return e&&(n.authorization=`Bearer ${e}`),t&&!e.startsWith(`ak_`)&&(n[`x-service-org`]=t),n}function w(e,t){t?b.setItem(e,t):b.removeItem(e)}function T(e){return e.replace(/^\s*Bearer\s+/i,``).replace(/[^\x21-\x7e]/g,``)}var ae=/^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/,E=new Set([`none`,`same-origin`]);function D(){let e=new URLSearchParams(location.hash.slice(1)),[t,n,r]=[`code`,`token`,`org`].map(t=>T(e.get(t)??``)||void 0);return!t&&!n&&!r?null:(history.replaceState(history.state,``,location.pathname+location.search),{code:t,token:n,organization:r})}function oe(e,t){if((e.code||e.token)&&!ae.test(location.hostname))return`ignore`;let n=O(e,t);return!e.code&&n.token===t.token&&n.organization===t.organization?`nothing`:t.token||k()?`ask`:`take`}function O({token:e,organization:t},n){return e?{token:e,organization:t??``}:{token:n.token,organization:t??n.organization}}function k(){let e=document.querySelector(`meta[name=led-by]`).content;return e&&!E.has(e)?!0:document.referrer!==``&&new URL(document.referrer).origin!==location.origin}async function se(e){let t;try{if(t=await fetch(new URL(`demo/token`,document.baseURI),{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`},body:JSON.stringify({code:e})}),t.ok)return await t.json()}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`The code of this link was used already, or has run out: paste the token instead`}}var A=n();function ce({link:e,kept:t,viewer:n,onAnswer:r}){let i=(0,m.useRef)(null),[a,o]=[(0,m.useId)(),(0,m.useId)()];(0,m.useEffect)(()=>i.current.showModal(),[]);let s=O(e,t);return(0,A.jsxs)(`dialog`,{ref:i,className:`ask`,"aria-labelledby":a,"aria-describedby":o,onClose:()=>r(!1),children:[(0,A.jsx)(`h2`,{id:a,children:t.token?`Replace what this tab keeps?`:`Use what this link brings?`}),(0,A.jsxs)(`p`,{id:o,children:[k()?`Another site led here. `:`A link was opened here. `,`What you run afterwards, writes included, goes to the organization that the link names. Use it only if you know who made it.`]}),(0,A.jsxs)(`table`,{children:[(0,A.jsx)(`thead`,{children:(0,A.jsxs)(`tr`,{children:[(0,A.jsx)(`td`,{}),(0,A.jsx)(`th`,{scope:`col`,children:`Kept now`}),(0,A.jsx)(`th`,{scope:`col`,children:`After the link`})]})}),(0,A.jsxs)(`tbody`,{children:[(0,A.jsxs)(`tr`,{children:[(0,A.jsx)(`th`,{scope:`row`,children:`Token`}),(0,A.jsx)(`td`,{children:j(t.token)}),(0,A.jsx)(`td`,{children:e.code?`a new one of the demo`:e.token?j(e.token):`stays`})]}),(0,A.jsxs)(`tr`,{children:[(0,A.jsx)(`th`,{scope:`row`,children:`Organization`}),(0,A.jsx)(`td`,{children:n?.organization?.name??(t.organization||`none`)}),(0,A.jsx)(`td`,{children:e.code?`the demo’s`:le(s.organization,n)||`the token’s own`})]})]})]}),(0,A.jsxs)(`div`,{className:`ask-buttons`,children:[(0,A.jsx)(`button`,{type:`button`,autoFocus:!0,onClick:()=>r(!1),children:t.token?`Keep what is here`:`Do not use it`}),(0,A.jsx)(`button`,{type:`button`,onClick:()=>r(!0),children:`Use the link`})]})]})}function j(e){return e?`ends in …${e.slice(-4)}`:`none`}function le(e,t){return t?.organizations.find(t=>t.id===e)?.name??e}var M=`crm-gateway:sign-in`,N=document.querySelector(`meta[name=sign-in]`)?.content===`on`;async function ue(e,t){if(!crypto.subtle)return{problem:`Signing in needs https, or the service on this machine`};let[n,r]=[F(),F()],i=new URL(t,document.baseURI);i.search=i.hash=``,sessionStorage.setItem(M,JSON.stringify({client:e,verifier:n,state:r,redirect:i.href}));let a=new URLSearchParams({response_type:`code`,client_id:e,redirect_uri:i.href,code_challenge:I(await crypto.subtle.digest(`SHA-256`,new TextEncoder().encode(n))),code_challenge_method:`S256`,state:r});return location.assign(new URL(`oauth/authorize?${a}`,document.baseURI)),{}}function de(){let e=new URLSearchParams(location.search);if(!e.has(`state`)||!(e.has(`code`)||e.has(`error`)))return null;history.replaceState(history.state,``,location.pathname+location.hash);let t=JSON.parse(sessionStorage.getItem(M)??`null`);return sessionStorage.removeItem(M),t?.state===e.get(`state`)?{...t,code:e.get(`code`)}:null}async function P({client:e,verifier:t,redirect:n,code:r}){if(!r)return{problem:`Nobody was signed in`};try{let i=await fetch(new URL(`oauth/token`,document.baseURI),{method:`POST`,credentials:`omit`,body:new URLSearchParams({grant_type:`authorization_code`,client_id:e,redirect_uri:n,code:r,code_verifier:t})});if(i.ok)return{token:(await i.json()).access_token}}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`Signing in took too long: please try again`}}function F(){return I(crypto.getRandomValues(new Uint8Array(32)))}function I(e){return btoa(String.fromCharCode(...new Uint8Array(e))).replaceAll(`+`,`-`).replaceAll(`/`,`_`).replaceAll(`=`,``)}var L={SESSION:`session token`,ORGANIZATION_KEY:`organization key`,USER_TOKEN:`user token`};function R({viewer:e,onForget:t}){let{subject:n,name:r,email:i,credentialKind:a,organization:o,scopes:s}=e;return(0,A.jsxs)(A.Fragment,{children:[(0,A.jsxs)(`button`,{type:`button`,className:`bar-who`,popoverTarget:`who`,"aria-haspopup":`dialog`,children:[(0,A.jsx)(`b`,{children:r??n}),` · `,s.length,` `,s.length===1?`scope`:`scopes`,(0,A.jsx)(`span`,{"aria-hidden":`true`,children:` ▾`})]}),(0,A.jsxs)(`section`,{id:`who`,className:`who`,popover:`auto`,"aria-label":`Who am I`,children:[(0,A.jsxs)(`dl`,{children:[(0,A.jsx)(`dt`,{children:`Subject`}),(0,A.jsx)(`dd`,{children:(0,A.jsx)(`code`,{children:n})}),i&&(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(`dt`,{children:`E-mail`}),(0,A.jsx)(`dd`,{children:i})]}),(0,A.jsx)(`dt`,{children:`Credential`}),(0,A.jsx)(`dd`,{children:L[a]??a}),(0,A.jsx)(`dt`,{children:`Acts in`}),(0,A.jsx)(`dd`,{children:o?o.name:`no organization yet`}),o&&(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(`dt`,{children:`X-Service-Org`}),(0,A.jsx)(`dd`,{children:(0,A.jsx)(`code`,{children:o.id})})]})]}),(0,A.jsx)(`h2`,{children:`Scopes`}),(0,A.jsx)(`ul`,{children:[...z(s)].map(([e,t])=>(0,A.jsxs)(`li`,{children:[(0,A.jsx)(`code`,{children:e}),` `,t.join(`, `)]},e))}),(0,A.jsx)(`button`,{type:`button`,onClick:t,children:`Forget the token`}),N&&(0,A.jsx)(`p`,{children:(0,A.jsx)(`a`,{href:`oauth/logout`,children:`Sign out of this browser`})})]})]})}function z(e){let t=new Map;for(let n of e){let[e,r]=n.split(`:`);t.set(e,[...t.get(e)??[],r])}return t}function B({credentials:e,answer:t,notice:n,onChange:r,onForget:i,onSignIn:a}){let{token:o,organization:s}=e;return(0,A.jsxs)(`header`,{className:`bar`,children:[(0,A.jsx)(`h1`,{children:(0,A.jsx)(`a`,{href:`./`,title:`What is here`,children:`CRM gateway`})}),(0,A.jsx)(V,{value:o,onChange:e=>r({token:e,organization:s})}),N&&(!o||t.state===`refused`)&&(0,A.jsx)(`button`,{type:`button`,className:`bar-sign-in`,onClick:a,children:`Sign in`}),(0,A.jsx)(H,{viewer:t.viewer,chosen:s,onChange:e=>r({token:o,organization:e})}),o&&t.viewer&&(0,A.jsx)(R,{viewer:t.viewer,onForget:i}),(0,A.jsx)(fe,{answer:t,notice:n}),(0,A.jsxs)(`nav`,{className:`bar-links`,children:[(0,A.jsx)(`a`,{href:`graphql/schema.graphql`,title:`The schema as text (SDL)`,children:`Schema`}),(0,A.jsx)(`a`,{href:`docs`,title:`The REST paths, in Swagger UI`,children:`REST`})]})]})}function V({value:e,onChange:t}){let n=(0,m.useId)(),[r,i]=(0,m.useState)(!1);return(0,A.jsxs)(`div`,{className:`bar-field bar-token`,children:[(0,A.jsx)(`label`,{htmlFor:n,children:`Token`}),(0,A.jsx)(`input`,{id:n,type:r?`text`:`password`,value:e,placeholder:`paste a session token, ak_… or pat_…`,onChange:e=>t(e.target.value),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,"data-1p-ignore":!0}),e&&(0,A.jsx)(`button`,{type:`button`,"aria-pressed":r,onClick:()=>i(!r),children:r?`Hide`:`Show`})]})}function H({viewer:e,chosen:t,onChange:n}){let r=(0,m.useId)(),i=e?.organizations??[],a=e?.organization,o=a&&!i.some(e=>e.id===a.id)?[a,...i]:i,s=o.some(e=>e.id===t)?t:a?.id??``,c=e?.credentialKind===`ORGANIZATION_KEY`||o.length<1;return(0,A.jsxs)(`div`,{className:`bar-field`,children:[(0,A.jsx)(`label`,{htmlFor:r,children:`Organization`}),(0,A.jsxs)(`select`,{id:r,value:s,disabled:c,onChange:e=>n(e.target.value),children:[!s&&(0,A.jsx)(`option`,{value:``,children:e?`choose one …`:`—`}),o.map(e=>(0,A.jsx)(`option`,{value:e.id,title:e.id,children:e.name},e.id))]})]})}function fe({answer:e,notice:t}){let{kind:n,text:r}=t??pe(e);return(0,A.jsx)(`p`,{className:`bar-status bar-status-${n}`,role:`status`,title:r,children:r})}function pe({state:e,viewer:t}){return e===`nobody`?{kind:`waiting`,text:`Paste a token to run operations`}:e===`refused`?{kind:`refused`,text:`The service refused this token`}:e===`silent`?{kind:`refused`,text:`The service does not say who this is`}:t?t.organization?{kind:`ready`,text:`Kept in this tab only`}:{kind:`waiting`,text:`Choose an organization`}:{kind:`asking`,text:`Asking who this is …`}}a();var U=location.origin+location.pathname,me=`application/graphql-response+json, application/json;q=0.9`;async function W(e,t,n){let r;try{r=await fetch(U,{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`,accept:me,...t},body:JSON.stringify(e),signal:n})}catch{return{status:0,answer:G(`The service did not answer: is it still running?`)}}try{return{status:r.status,answer:await r.json()}}catch{return{status:r.status,answer:G(`The answer is not JSON: HTTP ${r.status}`)}}}function G(e){return{errors:[{message:e}]}}function K(e,t){let n;try{n=c(e).definitions.filter(e=>e.kind===`OperationDefinition`)}catch{return{}}let r=n.length===1?n[0]:n.find(e=>e.name?.value===t);return{name:r?.name?.value,kind:r?.operation}}a();function he({query:e,variables:t,operationName:n,organization:r}){let i={query:ge(e)};t&&Object.keys(t).length>0&&(i.variables=t);let{name:a,kind:o}=K(e,n);a&&(i.operationName=a);let s=o===`subscription`,c=[`curl ${s?`--no-buffer`:`--silent --show-error`} ${q(U)}`,`--header 'Content-Type: application/json'`,'--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"'];return r&&c.push(`--header ${q(`X-Service-Org: ${r}`)}`),s&&c.push(`--header 'Accept: text/event-stream'`),c.push(`--data-raw ${q(JSON.stringify(i))}`),`${c.join(` \\
  `)}\n`}function q(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function ge(e){try{return f(e)}catch{return e}}function _e({onSay:e}){let{queryEditor:n,variableEditor:r,operationName:a}=u(o(`queryEditor`,`variableEditor`,`operationName`));async function s(){let i;try{i=t(r?.getValue())}catch{e(`Not copied: the variables are not valid JSON`);return}let o=C()[`x-service-org`];await ve(he({query:n?.getValue()??``,variables:i,operationName:a,organization:o})),e(`Copied; the command takes the token from CRM_TOKEN`)}return(0,A.jsx)(i,{label:`Copy as curl`,onClick:s,children:(0,A.jsxs)(`svg`,{className:`graphiql-toolbar-icon`,viewBox:`0 0 20 20`,fill:`none`,stroke:`currentColor`,strokeWidth:`1.5`,"aria-hidden":`true`,children:[(0,A.jsx)(`rect`,{x:`1.5`,y:`3`,width:`17`,height:`14`,rx:`3`}),(0,A.jsx)(`path`,{d:`M5 8l3 2.5L5 13M10 13.5h5`,strokeLinecap:`round`,strokeLinejoin:`round`})]})})}async function ve(e){if(navigator.clipboard){await navigator.clipboard.writeText(e);return}let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var ye=`# The five latest meetings
#
# Ctrl-Enter     run
# Ctrl-Space     suggest fields
# above          a tab for each area
# at the left    docs, field picker

query Meetings {
  meetings(first: 5) {
    nodes {
      subject
      dueAt
      state
      durationMinutes
      account {
        name
      }
      contact {
        firstName
        lastName
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,be=`# The board: what stands in each stage, and
# what it adds up to in each currency.

query DealBoard {
  dealBoard {
    columns {
      stage {
        name
        probability
      }
      totals {
        currency
        amount
        count
      }
      deals(first: 3) {
        nodes {
          name
          value
          currency
          closeDate
          account {
            name
          }
        }
      }
    }
  }
}
`,xe=`# Accounts, and how they are: the score is
# explained by nine factors.

query AccountHealth($first: Int = 3) {
  accounts(
    first: $first
    orderBy: { field: NAME, direction: ASC }
  ) {
    nodes {
      name
      domain
      industry
      health {
        score
        trend
        snapshotAt
        factors {
          label
          score
          weight
          explanation
        }
      }
      healthHistory(first: 4) {
        nodes {
          snapshotAt
          score
        }
      }
    }
  }
}
`,Se=`# New leads: who was captured, and how.

query Leads($status: LeadStatus = NEW) {
  leads(filter: { status: { eq: $status } }, first: 5) {
    nodes {
      name
      title
      company
      email
      tags
      source
      status
      createdAt
    }
  }
}
`,Ce=`# Outreach: what is written, from which
# mailboxes, and how the recipients answer.

query Campaigns {
  campaigns(first: 5) {
    nodes {
      name
      status
      dailyLimit
      steps {
        delayDays
        subject
      }
      mailboxes {
        email
        status
      }
      enrollments(first: 5) {
        nodes {
          email
          status
        }
      }
    }
  }
}
`,we=`# Research of customer experience: a run, its
# scored companies, and their reports.

query CustomerIntelligence {
  researchRuns(first: 1) {
    nodes {
      name
      status
      results(first: 5) {
        nodes {
          companyName
          domain
          status
          score
          error
          cxReport {
            revision
            artifacts {
              kind
              contentType
              bytes
              renderedAt
            }
          }
        }
      }
    }
  }
}
`,Te=`# Competitors, and the deals where they
# were heard of.

query Competitors {
  competitors {
    name
    aliases
    domains
  }
  deals(first: 5) {
    nodes {
      name
      competitors
    }
  }
}
`,Ee=`# One search over accounts, contacts, deals,
# leads and meetings.

query Search($words: String!) {
  search(query: $words, first: 8) {
    type
    matchedField
    snippet
    node {
      id
      ... on Account {
        name
      }
      ... on Meeting {
        subject
        dueAt
      }
    }
  }
}
`,De=`# The change log, oldest first, and who is
# told of it. \`after\` goes on behind a cursor.

query ChangeLog {
  events(first: 5) {
    nodes {
      cursor
      type
      actor
      occurredAt
      data
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  webhooks {
    url
    types
    active
  }
}
`,Oe=`# Who am I, what may I do, and which keys
# are there? Secrets are never shown again.

query Credentials {
  viewer {
    name
    credentialKind
    organization {
      name
    }
    mayCreateDeals: can(operation: "dealCreate")
    mayBuyDomains: can(operation: "domainPurchase")
  }
  organizationKeys {
    name
    hint
    lastUsedAt
    ownerName
  }
  userTokens {
    name
    hint
    expiresAt
  }
}
`,ke=`# A deal, made by you. What is wrong with the
# input is in \`userErrors\`, not in \`errors\`:
# try an empty name.

mutation CreateDeal($input: DealCreateInput!) {
  dealCreate(input: $input) {
    deal {
      id
      name
      value
      currency
      createdAt
    }
    userErrors {
      code
      field
      message
    }
  }
}
`,Ae=`# The change log as it happens. Leave it running
# and create a deal in another window: it is here
# at once. Without \`after\`, only news.

subscription LiveEvents($after: String) {
  events(after: $after) {
    cursor
    type
    actor
    occurredAt
    data
  }
}
`,je=`{ "first": 3 }
`,Me=`{ "status": "NEW" }
`,Ne=`{ "words": "review" }
`,Pe=`{
  "input": {
    "name": "A deal made in GraphiQL",
    "value": "12500.00",
    "currency": "EUR"
  }
}
`,Fe=`{ "after": "WyJzZXF1ZW5jZSIsImEiLDFd" }
`,J=Object.assign({"./examples/01-meetings.graphql":ye,"./examples/02-deals.graphql":be,"./examples/03-accounts.graphql":xe,"./examples/04-leads.graphql":Se,"./examples/05-campaigns.graphql":Ce,"./examples/06-customer-intelligence.graphql":we,"./examples/07-competitors.graphql":Te,"./examples/08-search.graphql":Ee,"./examples/09-events.graphql":De,"./examples/10-credentials.graphql":Oe,"./examples/11-mutation.graphql":ke,"./examples/12-subscription.graphql":Ae}),Ie=Object.assign({"./examples/03-accounts.json":je,"./examples/04-leads.json":Me,"./examples/08-search.json":Ne,"./examples/11-mutation.json":Pe,"./examples/12-subscription.json":Fe}),Le=Object.keys(J).sort().map(e=>({query:J[e],variables:Ie[e.replace(/graphql$/,`json`)]?.trim()})),Re=U.replace(/^http/,`ws`),Y=new Set;function ze(e,{onAnswer:t,onDoubt:n}){return{subscribe(r){let i=ee({url:Re,connectionParams:C,retryAttempts:0}),a=e=>{Y.delete(a)&&(e&&(r.next(e),t(e)),r.complete(),i.dispose())};return Y.add(a),i.subscribe(e,{next:e=>r.next(e),error:e=>{a(Array.isArray(e)?{errors:e}:G(Ve(e))),typeof e?.code==`number`&&n()},complete:()=>a()}),{unsubscribe:()=>a()}}}}function Be(){let e=G(`The stream has ended, because the token or the organization changed.`);for(let t of[...Y])t(e)}function Ve(e){return typeof e?.code==`number`?e.reason?`The service ended the stream: ${e.reason} (${e.code})`:`The connection of the stream was lost (${e.code}).`:`The service took no connection for the stream: is it still running?`}var He=401,Ue=`The operation was run, but its answer is not shown: the token or the organization changed meanwhile.`;function We({onAnswer:e,onDoubt:t}){return async function({query:n,variables:r,operationName:i}){if(i===`IntrospectionQuery`)return(await W({query:n,operationName:i},{})).answer;let{name:a,kind:o}=K(n,i),s={query:n,variables:r,operationName:a};if(o===`subscription`)return ze(s,{onAnswer:e,onDoubt:t});let c=C(),{status:l,answer:u}=await W(s,c);return JSON.stringify(c)===JSON.stringify(C())?(e(u),l===He&&t(),u):G(Ue)}}function X({errors:e}){let t=e?.find(e=>e.extensions?.code===`FORBIDDEN`);if(!t)return null;let n=t.extensions.required_scopes??[],r=n.length===1?n[0]:`one of ${n.length} scopes`;return{kind:`refused`,text:`Not allowed: ${t.path?.[0]??`this`} needs ${r}`}}var Ge=`query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`,Z={state:`nobody`,viewer:null},Ke=250,qe=new Set([`ORGANIZATION_MISMATCH`,`ORGANIZATION_NOT_ACCEPTED`]);function Je({token:e,organization:t},n,r){let[i,a]=(0,m.useState)(Z);return(0,m.useEffect)(()=>{if(!e){a(Z);return}a(e=>({...e,state:`asking`}));let n=new AbortController,i=setTimeout(async()=>{let{status:e,answer:i}=await W({query:Ge},C(),n.signal);if(n.signal.aborted)return;let o=i.data?.viewer;o?(a({state:`known`,viewer:o}),!o.organization&&o.organizations.length===1&&r(o.organizations[0].id)):t&&qe.has(i.errors?.[0]?.extensions?.code)?r(``):a({state:e===401?`refused`:`silent`,viewer:null})},Ke);return()=>{clearTimeout(i),n.abort()}},[e,t,n,r]),i}var Ye=[l({showAttribution:!1}),p],Xe=8e3,Ze={kind:`refused`,text:`The link’s token was not taken: links sign in on this machine’s own service alone`},Qe=720;function $e(){let[e,t]=(0,m.useState)(x),[n,r]=(0,m.useState)(0),[i,a]=(0,m.useState)(null),[o,s]=(0,m.useState)(null),c=(0,m.useCallback)(e=>{ie(e),te(),Be(),t(x())},[]),l=(0,m.useCallback)(async e=>{let t=e.code?await se(e.code):O(e,x());t.problem?a({kind:`refused`,text:t.problem}):c(t)},[c]),u=(0,m.useCallback)(e=>{let t=e?oe(e,x()):`nothing`;t===`ignore`?a(Ze):t===`ask`?s(e):t===`take`&&l(e)},[l]),f=Je(e,n,(0,m.useCallback)(e=>c({...x(),organization:e}),[c])),[p]=(0,m.useState)(()=>We({onAnswer:e=>a(X(e)),onDoubt:()=>r(e=>e+1)}));return(0,m.useEffect)(()=>{u(tt),$&&P($).then(({token:e,problem:t})=>{t?a({kind:`refused`,text:t}):c({token:e,organization:x().organization})});let e=()=>u(D());return addEventListener(`hashchange`,e),()=>removeEventListener(`hashchange`,e)},[u,c]),(0,m.useEffect)(()=>{let t=({persisted:t})=>{let{token:n,organization:r}=x();t&&(n!==e.token||r!==e.organization)&&location.reload()};return addEventListener(`pageshow`,t),()=>removeEventListener(`pageshow`,t)},[e]),(0,m.useEffect)(()=>{if(!i)return;let e=setTimeout(()=>a(null),Xe);return()=>clearTimeout(e)},[i]),(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(B,{credentials:e,answer:f,notice:i,onChange:c,onForget:et,onSignIn:async()=>{let{problem:e}=await ue(`graphiql`,`graphql`);e&&a({kind:`refused`,text:e})}}),o&&(0,A.jsx)(ce,{link:o,kept:e,viewer:f.viewer,onAnswer:e=>{s(null),e&&l(o)}}),(0,A.jsx)(`main`,{children:(0,A.jsxs)(d,{fetcher:p,storage:b,plugins:Ye,defaultTabs:Le,defaultQuery:``,defaultEditorToolsVisibility:innerWidth>Qe&&`variables`,inputValueDeprecation:!0,isHeadersEditorEnabled:!1,showPersistHeadersSettings:!1,children:[(0,A.jsx)(d.Logo,{children:` `}),(0,A.jsx)(d.Toolbar,{children:({prettify:e,copy:t,merge:n})=>(0,A.jsxs)(A.Fragment,{children:[e,n,t,(0,A.jsx)(_e,{onSay:e=>a({kind:`ready`,text:e})}),(0,A.jsx)(ne,{})]})})]})})]})}var Q=new BroadcastChannel(`crm-gateway:forget`);Q.onmessage=({data:e})=>{e&&e===x().token&&S()};function et(){Q.postMessage(x().token),S()}var tt=D(),$=de();(0,h.createRoot)(document.getElementById(`page`)).render((0,A.jsx)($e,{}));