import{a as e}from"./rolldown-runtime-BWaJ3C7D.js";import{_ as t,_r as n,a as r,c as i,d as a,g as o,gr as s,h as c,i as l,l as u,n as d,p as f,r as p,t as ee}from"./graphiql-CKGXxuKi.js";var m=e(s(),1),h=r(),g=()=>{};function te(){g()}function _(){let{responseEditor:e,tabs:t}=u(o(`responseEditor`,`tabs`));return(0,m.useEffect)(()=>(g=()=>{for(let e of t)e.response=null;e?.setValue(``)},()=>{g=()=>{}}),[e,t]),null}var v=`crm-gateway:token`,y=`crm-gateway:organization`,ne=/^(?:crm-gateway|graphiql):/,b=!1,x={getItem:e=>sessionStorage.getItem(e),setItem:(e,t)=>b||sessionStorage.setItem(e,t),removeItem:e=>sessionStorage.removeItem(e),clear:()=>sessionStorage.clear(),get length(){return sessionStorage.length}};function S(){return{token:sessionStorage.getItem(v)??``,organization:sessionStorage.getItem(y)??``}}function re({token:e,organization:t}){T(v,E(e)),T(y,E(t))}function C(){b=!0;for(let e of Object.keys(sessionStorage))ne.test(e)&&sessionStorage.removeItem(e);location.reload()}function w(){let{token:e,organization:t}=S(),n={};return e&&(n.authorization=`Bearer ${e}`),t&&!e.startsWith(`ak_`)&&(n[`x-service-org`]=t),n}function T(e,t){t?x.setItem(e,t):x.removeItem(e)}function E(e){return e.replace(/^\s*Bearer\s+/i,``).replace(/[^\x21-\x7e]/g,``)}var D=/^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/,O=new Set([`none`,`same-origin`]);function k(){let e=new URLSearchParams(location.hash.slice(1)),[t,n,r]=[`code`,`token`,`org`].map(t=>E(e.get(t)??``)||void 0);return!t&&!n&&!r?null:(history.replaceState(history.state,``,location.pathname+location.search),{code:t,token:n,organization:r})}function ie(e,t){if((e.code||e.token)&&!D.test(location.hostname))return`ignore`;let n=A(e,t);return!e.code&&n.token===t.token&&n.organization===t.organization?`nothing`:t.token||j()?`ask`:`take`}function A({token:e,organization:t},n){return e?{token:e,organization:t??``}:{token:n.token,organization:t??n.organization}}function j(){let e=document.querySelector(`meta[name=led-by]`).content;return e&&!O.has(e)?!0:document.referrer!==``&&new URL(document.referrer).origin!==location.origin}async function ae(e){let t;try{if(t=await fetch(new URL(`demo/token`,document.baseURI),{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`},body:JSON.stringify({code:e})}),t.ok)return await t.json()}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`The code of this link was used already, or has run out: paste the token instead`}}var M=n();function oe({link:e,kept:t,viewer:n,onAnswer:r}){let i=(0,m.useRef)(null),[a,o]=[(0,m.useId)(),(0,m.useId)()];(0,m.useEffect)(()=>i.current.showModal(),[]);let s=A(e,t);return(0,M.jsxs)(`dialog`,{ref:i,className:`ask`,"aria-labelledby":a,"aria-describedby":o,onClose:()=>r(!1),children:[(0,M.jsx)(`h2`,{id:a,children:t.token?`Replace what this tab keeps?`:`Use what this link brings?`}),(0,M.jsxs)(`p`,{id:o,children:[j()?`Another site led here. `:`A link was opened here. `,`What you run afterwards, writes included, goes to the organization that the link names. Use it only if you know who made it.`]}),(0,M.jsxs)(`table`,{children:[(0,M.jsx)(`thead`,{children:(0,M.jsxs)(`tr`,{children:[(0,M.jsx)(`td`,{}),(0,M.jsx)(`th`,{scope:`col`,children:`Kept now`}),(0,M.jsx)(`th`,{scope:`col`,children:`After the link`})]})}),(0,M.jsxs)(`tbody`,{children:[(0,M.jsxs)(`tr`,{children:[(0,M.jsx)(`th`,{scope:`row`,children:`Token`}),(0,M.jsx)(`td`,{children:N(t.token)}),(0,M.jsx)(`td`,{children:e.code?`a new one of the demo`:e.token?N(e.token):`stays`})]}),(0,M.jsxs)(`tr`,{children:[(0,M.jsx)(`th`,{scope:`row`,children:`Organization`}),(0,M.jsx)(`td`,{children:n?.organization?.name??(t.organization||`none`)}),(0,M.jsx)(`td`,{children:e.code?`the demo’s`:P(s.organization,n)||`the token’s own`})]})]})]}),(0,M.jsxs)(`div`,{className:`ask-buttons`,children:[(0,M.jsx)(`button`,{type:`button`,autoFocus:!0,onClick:()=>r(!1),children:t.token?`Keep what is here`:`Do not use it`}),(0,M.jsx)(`button`,{type:`button`,onClick:()=>r(!0),children:`Use the link`})]})]})}function N(e){return e?`ends in …${e.slice(-4)}`:`none`}function P(e,t){return t?.organizations.find(t=>t.id===e)?.name??e}var F={SESSION:`session token`,ORGANIZATION_KEY:`organization key`,USER_TOKEN:`user token`};function I({viewer:e,onForget:t}){let{subject:n,name:r,email:i,credentialKind:a,organization:o,scopes:s}=e;return(0,M.jsxs)(M.Fragment,{children:[(0,M.jsxs)(`button`,{type:`button`,className:`bar-who`,popoverTarget:`who`,"aria-haspopup":`dialog`,children:[(0,M.jsx)(`b`,{children:r??n}),` · `,s.length,` `,s.length===1?`scope`:`scopes`,(0,M.jsx)(`span`,{"aria-hidden":`true`,children:` ▾`})]}),(0,M.jsxs)(`section`,{id:`who`,className:`who`,popover:`auto`,"aria-label":`Who am I`,children:[(0,M.jsxs)(`dl`,{children:[(0,M.jsx)(`dt`,{children:`Subject`}),(0,M.jsx)(`dd`,{children:(0,M.jsx)(`code`,{children:n})}),i&&(0,M.jsxs)(M.Fragment,{children:[(0,M.jsx)(`dt`,{children:`E-mail`}),(0,M.jsx)(`dd`,{children:i})]}),(0,M.jsx)(`dt`,{children:`Credential`}),(0,M.jsx)(`dd`,{children:F[a]??a}),(0,M.jsx)(`dt`,{children:`Acts in`}),(0,M.jsx)(`dd`,{children:o?o.name:`no organization yet`}),o&&(0,M.jsxs)(M.Fragment,{children:[(0,M.jsx)(`dt`,{children:`X-Service-Org`}),(0,M.jsx)(`dd`,{children:(0,M.jsx)(`code`,{children:o.id})})]})]}),(0,M.jsx)(`h2`,{children:`Scopes`}),(0,M.jsx)(`ul`,{children:[...L(s)].map(([e,t])=>(0,M.jsxs)(`li`,{children:[(0,M.jsx)(`code`,{children:e}),` `,t.join(`, `)]},e))}),(0,M.jsx)(`button`,{type:`button`,onClick:t,children:`Forget the token`})]})]})}function L(e){let t=new Map;for(let n of e){let[e,r]=n.split(`:`);t.set(e,[...t.get(e)??[],r])}return t}function R({credentials:e,answer:t,notice:n,onChange:r,onForget:i}){let{token:a,organization:o}=e;return(0,M.jsxs)(`header`,{className:`bar`,children:[(0,M.jsx)(`h1`,{children:(0,M.jsx)(`a`,{href:`./`,title:`What is here`,children:`CRM gateway`})}),(0,M.jsx)(z,{value:a,onChange:e=>r({token:e,organization:o})}),(0,M.jsx)(B,{viewer:t.viewer,chosen:o,onChange:e=>r({token:a,organization:e})}),a&&t.viewer&&(0,M.jsx)(I,{viewer:t.viewer,onForget:i}),(0,M.jsx)(V,{answer:t,notice:n}),(0,M.jsxs)(`nav`,{className:`bar-links`,children:[(0,M.jsx)(`a`,{href:`graphql/schema.graphql`,title:`The schema as text (SDL)`,children:`Schema`}),(0,M.jsx)(`a`,{href:`docs`,title:`The REST paths, in Swagger UI`,children:`REST`})]})]})}function z({value:e,onChange:t}){let n=(0,m.useId)(),[r,i]=(0,m.useState)(!1);return(0,M.jsxs)(`div`,{className:`bar-field bar-token`,children:[(0,M.jsx)(`label`,{htmlFor:n,children:`Token`}),(0,M.jsx)(`input`,{id:n,type:r?`text`:`password`,value:e,placeholder:`paste a session token, ak_… or pat_…`,onChange:e=>t(e.target.value),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,"data-1p-ignore":!0}),e&&(0,M.jsx)(`button`,{type:`button`,"aria-pressed":r,onClick:()=>i(!r),children:r?`Hide`:`Show`})]})}function B({viewer:e,chosen:t,onChange:n}){let r=(0,m.useId)(),i=e?.organizations??[],a=e?.organization,o=a&&!i.some(e=>e.id===a.id)?[a,...i]:i,s=o.some(e=>e.id===t)?t:a?.id??``,c=e?.credentialKind===`ORGANIZATION_KEY`||o.length<1;return(0,M.jsxs)(`div`,{className:`bar-field`,children:[(0,M.jsx)(`label`,{htmlFor:r,children:`Organization`}),(0,M.jsxs)(`select`,{id:r,value:s,disabled:c,onChange:e=>n(e.target.value),children:[!s&&(0,M.jsx)(`option`,{value:``,children:e?`choose one …`:`—`}),o.map(e=>(0,M.jsx)(`option`,{value:e.id,title:e.id,children:e.name},e.id))]})]})}function V({answer:e,notice:t}){let{kind:n,text:r}=t??H(e);return(0,M.jsx)(`p`,{className:`bar-status bar-status-${n}`,role:`status`,title:r,children:r})}function H({state:e,viewer:t}){return e===`nobody`?{kind:`waiting`,text:`Paste a token to run operations`}:e===`refused`?{kind:`refused`,text:`The service refused this token`}:e===`silent`?{kind:`refused`,text:`The service does not say who this is`}:t?t.organization?{kind:`ready`,text:`Kept in this tab only`}:{kind:`waiting`,text:`Choose an organization`}:{kind:`asking`,text:`Asking who this is …`}}a();var U=location.origin+location.pathname,W=`application/graphql-response+json, application/json;q=0.9`;async function G(e,t,n){let r;try{r=await fetch(U,{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`,accept:W,...t},body:JSON.stringify(e),signal:n})}catch{return{status:0,answer:K(`The service did not answer: is it still running?`)}}try{return{status:r.status,answer:await r.json()}}catch{return{status:r.status,answer:K(`The answer is not JSON: HTTP ${r.status}`)}}}function K(e){return{errors:[{message:e}]}}function q(e,t){let n;try{n=c(e).definitions.filter(e=>e.kind===`OperationDefinition`)}catch{return{}}let r=n.length===1?n[0]:n.find(e=>e.name?.value===t);return{name:r?.name?.value,kind:r?.operation}}a();function se({query:e,variables:t,operationName:n,organization:r}){let i={query:ce(e)};t&&Object.keys(t).length>0&&(i.variables=t);let{name:a,kind:o}=q(e,n);a&&(i.operationName=a);let s=o===`subscription`,c=[`curl ${s?`--no-buffer`:`--silent --show-error`} ${J(U)}`,`--header 'Content-Type: application/json'`,'--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"'];return r&&c.push(`--header ${J(`X-Service-Org: ${r}`)}`),s&&c.push(`--header 'Accept: text/event-stream'`),c.push(`--data-raw ${J(JSON.stringify(i))}`),`${c.join(` \\
  `)}\n`}function J(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function ce(e){try{return f(e)}catch{return e}}function le({onSay:e}){let{queryEditor:n,variableEditor:r,operationName:a}=u(o(`queryEditor`,`variableEditor`,`operationName`));async function s(){let i;try{i=t(r?.getValue())}catch{e(`Not copied: the variables are not valid JSON`);return}let o=w()[`x-service-org`];await ue(se({query:n?.getValue()??``,variables:i,operationName:a,organization:o})),e(`Copied; the command takes the token from CRM_TOKEN`)}return(0,M.jsx)(i,{label:`Copy as curl`,onClick:s,children:(0,M.jsxs)(`svg`,{className:`graphiql-toolbar-icon`,viewBox:`0 0 20 20`,fill:`none`,stroke:`currentColor`,strokeWidth:`1.5`,"aria-hidden":`true`,children:[(0,M.jsx)(`rect`,{x:`1.5`,y:`3`,width:`17`,height:`14`,rx:`3`}),(0,M.jsx)(`path`,{d:`M5 8l3 2.5L5 13M10 13.5h5`,strokeLinecap:`round`,strokeLinejoin:`round`})]})})}async function ue(e){if(navigator.clipboard){await navigator.clipboard.writeText(e);return}let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var de=`# The five latest meetings
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
`,fe=`# The board: what stands in each stage, and
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
`,pe=`# Accounts, and how they are: the score is
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
`,me=`# New leads: who was captured, and how.

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
`,he=`# Outreach: what is written, from which
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
`,ge=`# Research of customer experience: a run, its
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
`,_e=`# Competitors, and the deals where they
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
`,ve=`# One search over accounts, contacts, deals,
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
`,ye=`# The change log, oldest first, and who is
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
`,be=`# Who am I, what may I do, and which keys
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
`,xe=`# A deal, made by you. What is wrong with the
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
`,Se=`# The change log as it happens. Leave it running
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
`,Ce=`{ "first": 3 }
`,we=`{ "status": "NEW" }
`,Te=`{ "words": "review" }
`,Ee=`{
  "input": {
    "name": "A deal made in GraphiQL",
    "value": "12500.00",
    "currency": "EUR"
  }
}
`,De=`{ "after": "WyJzZXF1ZW5jZSIsImEiLDFd" }
`,Y=Object.assign({"./examples/01-meetings.graphql":de,"./examples/02-deals.graphql":fe,"./examples/03-accounts.graphql":pe,"./examples/04-leads.graphql":me,"./examples/05-campaigns.graphql":he,"./examples/06-customer-intelligence.graphql":ge,"./examples/07-competitors.graphql":_e,"./examples/08-search.graphql":ve,"./examples/09-events.graphql":ye,"./examples/10-credentials.graphql":be,"./examples/11-mutation.graphql":xe,"./examples/12-subscription.graphql":Se}),Oe=Object.assign({"./examples/03-accounts.json":Ce,"./examples/04-leads.json":we,"./examples/08-search.json":Te,"./examples/11-mutation.json":Ee,"./examples/12-subscription.json":De}),ke=Object.keys(Y).sort().map(e=>({query:Y[e],variables:Oe[e.replace(/graphql$/,`json`)]?.trim()})),Ae=U.replace(/^http/,`ws`),X=new Set;function je(e,{onAnswer:t,onDoubt:n}){return{subscribe(r){let i=ee({url:Ae,connectionParams:w,retryAttempts:0}),a=e=>{X.delete(a)&&(e&&(r.next(e),t(e)),r.complete(),i.dispose())};return X.add(a),i.subscribe(e,{next:e=>r.next(e),error:e=>{a(Array.isArray(e)?{errors:e}:K(Ne(e))),typeof e?.code==`number`&&n()},complete:()=>a()}),{unsubscribe:()=>a()}}}}function Me(){let e=K(`The stream has ended, because the token or the organization changed.`);for(let t of[...X])t(e)}function Ne(e){return typeof e?.code==`number`?e.reason?`The service ended the stream: ${e.reason} (${e.code})`:`The connection of the stream was lost (${e.code}).`:`The service took no connection for the stream: is it still running?`}var Pe=401,Fe=`The operation was run, but its answer is not shown: the token or the organization changed meanwhile.`;function Ie({onAnswer:e,onDoubt:t}){return async function({query:n,variables:r,operationName:i}){if(i===`IntrospectionQuery`)return(await G({query:n,operationName:i},{})).answer;let{name:a,kind:o}=q(n,i),s={query:n,variables:r,operationName:a};if(o===`subscription`)return je(s,{onAnswer:e,onDoubt:t});let c=w(),{status:l,answer:u}=await G(s,c);return JSON.stringify(c)===JSON.stringify(w())?(e(u),l===Pe&&t(),u):K(Fe)}}function Z({errors:e}){let t=e?.find(e=>e.extensions?.code===`FORBIDDEN`);if(!t)return null;let n=t.extensions.required_scopes??[],r=n.length===1?n[0]:`one of ${n.length} scopes`;return{kind:`refused`,text:`Not allowed: ${t.path?.[0]??`this`} needs ${r}`}}var Le=`query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`,Q={state:`nobody`,viewer:null},Re=250,ze=new Set([`ORGANIZATION_MISMATCH`,`ORGANIZATION_NOT_ACCEPTED`]);function Be({token:e,organization:t},n,r){let[i,a]=(0,m.useState)(Q);return(0,m.useEffect)(()=>{if(!e){a(Q);return}a(e=>({...e,state:`asking`}));let n=new AbortController,i=setTimeout(async()=>{let{status:e,answer:i}=await G({query:Le},w(),n.signal);if(n.signal.aborted)return;let o=i.data?.viewer;o?(a({state:`known`,viewer:o}),!o.organization&&o.organizations.length===1&&r(o.organizations[0].id)):t&&ze.has(i.errors?.[0]?.extensions?.code)?r(``):a({state:e===401?`refused`:`silent`,viewer:null})},Re);return()=>{clearTimeout(i),n.abort()}},[e,t,n,r]),i}var Ve=[l({showAttribution:!1}),p],He=8e3,Ue={kind:`refused`,text:`The link’s token was not taken: links sign in on this machine’s own service alone`},We=720;function Ge(){let[e,t]=(0,m.useState)(S),[n,r]=(0,m.useState)(0),[i,a]=(0,m.useState)(null),[o,s]=(0,m.useState)(null),c=(0,m.useCallback)(e=>{re(e),te(),Me(),t(S())},[]),l=(0,m.useCallback)(async e=>{let t=e.code?await ae(e.code):A(e,S());t.problem?a({kind:`refused`,text:t.problem}):c(t)},[c]),u=(0,m.useCallback)(e=>{let t=e?ie(e,S()):`nothing`;t===`ignore`?a(Ue):t===`ask`?s(e):t===`take`&&l(e)},[l]),f=Be(e,n,(0,m.useCallback)(e=>c({...S(),organization:e}),[c])),[p]=(0,m.useState)(()=>Ie({onAnswer:e=>a(Z(e)),onDoubt:()=>r(e=>e+1)}));return(0,m.useEffect)(()=>{u(qe);let e=()=>u(k());return addEventListener(`hashchange`,e),()=>removeEventListener(`hashchange`,e)},[u]),(0,m.useEffect)(()=>{let t=({persisted:t})=>{let{token:n,organization:r}=S();t&&(n!==e.token||r!==e.organization)&&location.reload()};return addEventListener(`pageshow`,t),()=>removeEventListener(`pageshow`,t)},[e]),(0,m.useEffect)(()=>{if(!i)return;let e=setTimeout(()=>a(null),He);return()=>clearTimeout(e)},[i]),(0,M.jsxs)(M.Fragment,{children:[(0,M.jsx)(R,{credentials:e,answer:f,notice:i,onChange:c,onForget:Ke}),o&&(0,M.jsx)(oe,{link:o,kept:e,viewer:f.viewer,onAnswer:e=>{s(null),e&&l(o)}}),(0,M.jsx)(`main`,{children:(0,M.jsxs)(d,{fetcher:p,storage:x,plugins:Ve,defaultTabs:ke,defaultQuery:``,defaultEditorToolsVisibility:innerWidth>We&&`variables`,inputValueDeprecation:!0,isHeadersEditorEnabled:!1,showPersistHeadersSettings:!1,children:[(0,M.jsx)(d.Logo,{children:` `}),(0,M.jsx)(d.Toolbar,{children:({prettify:e,copy:t,merge:n})=>(0,M.jsxs)(M.Fragment,{children:[e,n,t,(0,M.jsx)(le,{onSay:e=>a({kind:`ready`,text:e})}),(0,M.jsx)(_,{})]})})]})})]})}var $=new BroadcastChannel(`crm-gateway:forget`);$.onmessage=({data:e})=>{e&&e===S().token&&C()};function Ke(){$.postMessage(S().token),C()}var qe=k();(0,h.createRoot)(document.getElementById(`page`)).render((0,M.jsx)(Ge,{}));