import{a as e}from"./rolldown-runtime-BWaJ3C7D.js";import{_ as t,_r as n,a as r,c as i,f as a,g as o,i as s,l as c,m as l,n as u,r as d,t as f,u as p,v as m,vr as h}from"./graphiql-CT08UHhL.js";var g=e(n(),1),ee=r(),_=()=>{};function te(){_()}function ne(){let{responseEditor:e,tabs:n}=c(t(`responseEditor`,`tabs`));return(0,g.useEffect)(()=>(_=()=>{for(let e of n)e.response=null;e?.setValue(``)},()=>{_=()=>{}}),[e,n]),null}var v=`crm-gateway:token`,y=`crm-gateway:organization`,re=/^(?:crm-gateway|graphiql):/,b=!1,x={getItem:e=>sessionStorage.getItem(e),setItem:(e,t)=>b||sessionStorage.setItem(e,t),removeItem:e=>sessionStorage.removeItem(e),clear:()=>sessionStorage.clear(),get length(){return sessionStorage.length}};function S(){return{token:sessionStorage.getItem(v)??``,organization:sessionStorage.getItem(y)??``}}function ie({token:e,organization:t}){E(v,D(e)),E(y,D(t))}var C=new BroadcastChannel(`crm-gateway:forget`);C.onmessage=({data:e})=>{e&&e===S().token&&w()};function ae(){C.postMessage(S().token),w()}function w(){b=!0;for(let e of Object.keys(sessionStorage))re.test(e)&&sessionStorage.removeItem(e);location.reload()}function T(){let{token:e,organization:t}=S(),n={};return e&&(n.authorization=`Bearer ${e}`),t&&!e.startsWith(`ak_`)&&(n[`x-service-org`]=t),n}function E(e,t){t?x.setItem(e,t):x.removeItem(e)}function D(e){return e.replace(/^\s*Bearer\s+/i,``).replace(/[^\x21-\x7e]/g,``)}var oe=/^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/,se=new Set([`none`,`same-origin`]);function O(){let e=new URLSearchParams(location.hash.slice(1)),[t,n,r]=[`code`,`token`,`org`].map(t=>D(e.get(t)??``)||void 0);return!t&&!n&&!r?null:(history.replaceState(history.state,``,location.pathname+location.search),{code:t,token:n,organization:r})}function ce(e,t){if((e.code||e.token)&&!oe.test(location.hostname))return`ignore`;let n=k(e,t);return!e.code&&n.token===t.token&&n.organization===t.organization?`nothing`:t.token||A()?`ask`:`take`}function k({token:e,organization:t},n){return e?{token:e,organization:t??``}:{token:n.token,organization:t??n.organization}}function A(){let e=document.querySelector(`meta[name=led-by]`).content;return e&&!se.has(e)?!0:document.referrer!==``&&new URL(document.referrer).origin!==location.origin}async function le(e){let t;try{if(t=await fetch(new URL(`demo/token`,document.baseURI),{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`},body:JSON.stringify({code:e})}),t.ok)return await t.json()}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`The code of this link was used already, or has run out: paste the token instead`}}var j=h();function ue({link:e,kept:t,viewer:n,onAnswer:r}){let i=(0,g.useRef)(null),[a,o]=[(0,g.useId)(),(0,g.useId)()];(0,g.useEffect)(()=>i.current.showModal(),[]);let s=k(e,t);return(0,j.jsxs)(`dialog`,{ref:i,className:`ask`,"aria-labelledby":a,"aria-describedby":o,onClose:()=>r(!1),children:[(0,j.jsx)(`h2`,{id:a,children:t.token?`Replace what this tab keeps?`:`Use what this link brings?`}),(0,j.jsxs)(`p`,{id:o,children:[A()?`Another site led here. `:`A link was opened here. `,`What you run afterwards, writes included, goes to the organization that the link names. Use it only if you know who made it.`]}),(0,j.jsxs)(`table`,{children:[(0,j.jsx)(`thead`,{children:(0,j.jsxs)(`tr`,{children:[(0,j.jsx)(`td`,{}),(0,j.jsx)(`th`,{scope:`col`,children:`Kept now`}),(0,j.jsx)(`th`,{scope:`col`,children:`After the link`})]})}),(0,j.jsxs)(`tbody`,{children:[(0,j.jsxs)(`tr`,{children:[(0,j.jsx)(`th`,{scope:`row`,children:`Token`}),(0,j.jsx)(`td`,{children:M(t.token)}),(0,j.jsx)(`td`,{children:e.code?`a new one of the demo`:e.token?M(e.token):`stays`})]}),(0,j.jsxs)(`tr`,{children:[(0,j.jsx)(`th`,{scope:`row`,children:`Organization`}),(0,j.jsx)(`td`,{children:n?.organization?.name??(t.organization||`none`)}),(0,j.jsx)(`td`,{children:e.code?`the demo’s`:de(s.organization,n)||`the token’s own`})]})]})]}),(0,j.jsxs)(`div`,{className:`ask-buttons`,children:[(0,j.jsx)(`button`,{type:`button`,autoFocus:!0,onClick:()=>r(!1),children:t.token?`Keep what is here`:`Do not use it`}),(0,j.jsx)(`button`,{type:`button`,onClick:()=>r(!0),children:`Use the link`})]})]})}function M(e){return e?`ends in …${e.slice(-4)}`:`none`}function de(e,t){return t?.organizations.find(t=>t.id===e)?.name??e}var N=`crm-gateway:sign-in`,P=document.querySelector(`meta[name=sign-in]`)?.content===`on`;async function fe(e,t){if(!crypto.subtle)return{problem:`Signing in needs https, or the service on this machine`};let[n,r]=[F(),F()],i=new URL(t,document.baseURI);i.search=i.hash=``,sessionStorage.setItem(N,JSON.stringify({client:e,verifier:n,state:r,redirect:i.href}));let a=new URLSearchParams({response_type:`code`,client_id:e,redirect_uri:i.href,code_challenge:I(await crypto.subtle.digest(`SHA-256`,new TextEncoder().encode(n))),code_challenge_method:`S256`,state:r});return location.assign(new URL(`oauth/authorize?${a}`,document.baseURI)),{}}function pe(){let e=new URLSearchParams(location.search);if(!e.has(`state`)||!(e.has(`code`)||e.has(`error`)))return null;history.replaceState(history.state,``,location.pathname+location.hash);let t=JSON.parse(sessionStorage.getItem(N)??`null`);return sessionStorage.removeItem(N),t?.state===e.get(`state`)?{...t,code:e.get(`code`)}:null}async function me({client:e,verifier:t,redirect:n,code:r}){if(!r)return{problem:`Nobody was signed in`};try{let i=await fetch(new URL(`oauth/token`,document.baseURI),{method:`POST`,credentials:`omit`,body:new URLSearchParams({grant_type:`authorization_code`,client_id:e,redirect_uri:n,code:r,code_verifier:t})});if(i.ok)return{token:(await i.json()).access_token}}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`Signing in took too long: please try again`}}function F(){return I(crypto.getRandomValues(new Uint8Array(32)))}function I(e){return btoa(String.fromCharCode(...new Uint8Array(e))).replaceAll(`+`,`-`).replaceAll(`/`,`_`).replaceAll(`=`,``)}var L={SESSION:`session token`,ORGANIZATION_KEY:`organization key`,USER_TOKEN:`user token`};function R({viewer:e,onForget:t}){let{subject:n,name:r,email:i,credentialKind:a,organization:o,scopes:s}=e;return(0,j.jsxs)(j.Fragment,{children:[(0,j.jsxs)(`button`,{type:`button`,className:`bar-who`,popoverTarget:`who`,"aria-haspopup":`dialog`,children:[(0,j.jsx)(`b`,{children:r??n}),` · `,s.length,` `,s.length===1?`scope`:`scopes`,(0,j.jsx)(`span`,{"aria-hidden":`true`,children:` ▾`})]}),(0,j.jsxs)(`section`,{id:`who`,className:`who`,popover:`auto`,"aria-label":`Who am I`,children:[(0,j.jsxs)(`dl`,{children:[(0,j.jsx)(`dt`,{children:`Subject`}),(0,j.jsx)(`dd`,{children:(0,j.jsx)(`code`,{children:n})}),i&&(0,j.jsxs)(j.Fragment,{children:[(0,j.jsx)(`dt`,{children:`E-mail`}),(0,j.jsx)(`dd`,{children:i})]}),(0,j.jsx)(`dt`,{children:`Credential`}),(0,j.jsx)(`dd`,{children:L[a]??a}),(0,j.jsx)(`dt`,{children:`Acts in`}),(0,j.jsx)(`dd`,{children:o?o.name:`no organization yet`}),o&&(0,j.jsxs)(j.Fragment,{children:[(0,j.jsx)(`dt`,{children:`X-Service-Org`}),(0,j.jsx)(`dd`,{children:(0,j.jsx)(`code`,{children:o.id})})]})]}),(0,j.jsx)(`h2`,{children:`Scopes`}),(0,j.jsx)(`ul`,{children:[...z(s)].map(([e,t])=>(0,j.jsxs)(`li`,{children:[(0,j.jsx)(`code`,{children:e}),` `,t.join(`, `)]},e))}),(0,j.jsx)(`button`,{type:`button`,onClick:t,children:`Forget the token`}),P&&(0,j.jsx)(`p`,{children:(0,j.jsx)(`a`,{href:`oauth/logout`,children:`Sign out of this browser`})})]})]})}function z(e){let t=new Map;for(let n of e){let[e,r]=n.split(`:`);t.set(e,[...t.get(e)??[],r])}return t}function he({credentials:e,answer:t,notice:n,onChange:r,onForget:i,onSignIn:a}){let{token:o,organization:s}=e;return(0,j.jsxs)(`header`,{className:`bar`,children:[(0,j.jsx)(`h1`,{children:(0,j.jsx)(`a`,{href:`./`,title:`What is here`,children:`CRM gateway`})}),(0,j.jsx)(ge,{value:o,onChange:e=>r({token:e,organization:s})}),P&&(!o||t.state===`refused`)&&(0,j.jsx)(`button`,{type:`button`,className:`bar-sign-in`,onClick:a,children:`Sign in`}),(0,j.jsx)(_e,{viewer:t.viewer,chosen:s,onChange:e=>r({token:o,organization:e})}),o&&t.viewer&&(0,j.jsx)(R,{viewer:t.viewer,onForget:i}),(0,j.jsx)(ve,{answer:t,notice:n}),(0,j.jsxs)(`nav`,{className:`bar-links`,children:[(0,j.jsx)(`a`,{href:`graphql/schema.graphql`,title:`The schema as text (SDL)`,children:`Schema`}),(0,j.jsx)(`a`,{href:`docs`,title:`The REST paths, in Swagger UI`,children:`REST`})]})]})}function ge({value:e,onChange:t}){let n=(0,g.useId)(),[r,i]=(0,g.useState)(!1);return(0,j.jsxs)(`div`,{className:`bar-field bar-token`,children:[(0,j.jsx)(`label`,{htmlFor:n,children:`Token`}),(0,j.jsx)(`input`,{id:n,type:r?`text`:`password`,value:e,placeholder:`paste a session token, ak_… or pat_…`,onChange:e=>t(e.target.value),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,"data-1p-ignore":!0}),e&&(0,j.jsx)(`button`,{type:`button`,"aria-pressed":r,onClick:()=>i(!r),children:r?`Hide`:`Show`})]})}function _e({viewer:e,chosen:t,onChange:n}){let r=(0,g.useId)(),i=e?.organizations??[],a=e?.organization,o=a&&!i.some(e=>e.id===a.id)?[a,...i]:i,s=o.some(e=>e.id===t)?t:a?.id??``,c=e?.credentialKind===`ORGANIZATION_KEY`||o.length<1;return(0,j.jsxs)(`div`,{className:`bar-field`,children:[(0,j.jsx)(`label`,{htmlFor:r,children:`Organization`}),(0,j.jsxs)(`select`,{id:r,value:s,disabled:c,onChange:e=>n(e.target.value),children:[!s&&(0,j.jsx)(`option`,{value:``,children:e?`choose one …`:`—`}),o.map(e=>(0,j.jsx)(`option`,{value:e.id,title:e.id,children:e.name},e.id))]})]})}function ve({answer:e,notice:t}){let{kind:n,text:r}=t??ye(e);return(0,j.jsx)(`p`,{className:`bar-status bar-status-${n}`,role:`status`,title:r,children:r})}function ye({state:e,viewer:t}){return e===`nobody`?{kind:`waiting`,text:`Paste a token to run operations`}:e===`refused`?{kind:`refused`,text:`The service refused this token`}:e===`silent`?{kind:`refused`,text:`The service does not say who this is`}:t?t.organization?{kind:`ready`,text:`Kept in this tab only`}:{kind:`waiting`,text:`Choose an organization`}:{kind:`asking`,text:`Asking who this is …`}}var be={unicodeHighlight:{ambiguousCharacters:!1,invisibleCharacters:!1}};function xe(){let{responseEditor:e}=c(t(`responseEditor`));return(0,g.useEffect)(()=>{e?.updateOptions(be)},[e]),null}a();var B=location.origin+location.pathname,Se=`application/graphql-response+json, application/json;q=0.9`;async function V(e,t,n){let r;try{r=await fetch(B,{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`,accept:Se,...t},body:JSON.stringify(e),signal:n})}catch{return{status:0,answer:H(`The service did not answer: is it still running?`)}}try{return{status:r.status,answer:await r.json()}}catch{return{status:r.status,answer:H(`The answer is not JSON: HTTP ${r.status}`)}}}function H(e){return{errors:[{message:e}]}}function U(e,t){let n;try{n=o(e).definitions.filter(e=>e.kind===`OperationDefinition`)}catch{return{}}let r=n.length===1?n[0]:n.find(e=>e.name?.value===t);return{name:r?.name?.value,kind:r?.operation}}a();function Ce({query:e,variables:t,operationName:n,organization:r,key:i}){let a={query:we(e)};t&&Object.keys(t).length>0&&(a.variables=t);let{name:o,kind:s}=U(e,n);o&&(a.operationName=o);let c=s===`subscription`,l=[`curl ${c?`--no-buffer`:`--silent --show-error`} ${W(B)}`,`--header 'Content-Type: application/json'`,'--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"'];return r&&l.push(`--header ${W(`X-Service-Org: ${r}`)}`),i&&s===`mutation`&&l.push(`--header ${W(`Idempotency-Key: ${i}`)}`),c&&l.push(`--header 'Accept: text/event-stream'`),l.push(`--data-raw ${W(JSON.stringify(a))}`),`${l.join(` \\
  `)}\n`}function W(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function we(e){try{return l(e)}catch{return e}}var G=``;function K(){return G}function Te(e){return G=e.replace(/[^\x21-\x7e]/g,``),G}function Ee(){return[...crypto.getRandomValues(new Uint8Array(16))].map(e=>e.toString(16).padStart(2,`0`)).join(``)}function De(e){return G&&e===`mutation`?{"idempotency-key":G}:{}}function Oe({onSay:e}){let{queryEditor:n,variableEditor:r,operationName:a}=c(t(`queryEditor`,`variableEditor`,`operationName`));async function o(){let t;try{t=m(r?.getValue())}catch{e(`Not copied: the variables are not valid JSON`);return}let i=T()[`x-service-org`];await ke(Ce({query:n?.getValue()??``,variables:t,operationName:a,organization:i,key:K()})),e(`Copied; the command takes the token from CRM_TOKEN`)}return(0,j.jsx)(i,{label:`Copy as curl`,onClick:o,children:(0,j.jsxs)(`svg`,{className:`graphiql-toolbar-icon`,viewBox:`0 0 20 20`,fill:`none`,stroke:`currentColor`,strokeWidth:`1.5`,"aria-hidden":`true`,children:[(0,j.jsx)(`rect`,{x:`1.5`,y:`3`,width:`17`,height:`14`,rx:`3`}),(0,j.jsx)(`path`,{d:`M5 8l3 2.5L5 13M10 13.5h5`,strokeLinecap:`round`,strokeLinejoin:`round`})]})})}async function ke(e){if(navigator.clipboard){await navigator.clipboard.writeText(e);return}let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}function Ae(e){if(!e)return null;let{requested:t,actual:n,throttle:r}=e;return{text:`Cost ${q(n)} · ${r.available.toLocaleString(`en`)} of ${r.maximum.toLocaleString(`en`)} left`,title:`Asked for ${q(t)}, took ${q(n)}; ${r.restoreRate} come back each second`}}function je(e){if(!e?.extensions?.cost)return{answer:e,cost:null};let{extensions:t,...n}=e,{cost:r,...i}=t;return{answer:Object.keys(i).length>0?{...n,extensions:i}:n,cost:r}}function q(e){return`${e.toLocaleString(`en`)} ${e===1?`point`:`points`}`}function Me(){let{queryEditor:e,variableEditor:n,responseEditor:r}=c(t(`queryEditor`,`variableEditor`,`responseEditor`)),{run:i}=p(),a=(0,g.useRef)(!1),o=!!(e&&n&&r);return(0,g.useLayoutEffect)(()=>{if(o){a.current&&i(),a.current=!1;return}let e=e=>{e.target.closest(`.graphiql-execute-button`)&&(e.stopPropagation(),a.current=!0)};return addEventListener(`click`,e,!0),()=>removeEventListener(`click`,e,!0)},[o,i]),null}var Ne=`# The next five meetings
#
# Ctrl-Enter     run
# Ctrl-Space     suggest fields
# above          a tab for each area
# at the left    docs, field picker

query Meetings {
  meetings(
    first: 5
    filter: { state: { eq: SCHEDULED } }
    orderBy: { field: DUE_AT, direction: ASC }
  ) {
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
`,Pe=`# The board: what stands in each stage, and
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
`,Fe=`# Accounts, and how they are: the score is
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
`,Ie=`# New leads: who was captured, and how.

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
`,Le=`# Outreach: what is written, from which
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
`,Re=`# Research of customer experience: a run, its
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
`,ze=`# Competitors, and the deals where they
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
`,Be=`# One search over accounts, contacts, deals,
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
`,Ve=`# The change log, oldest first, and who is
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
`,He=`# Who am I, what may I do, and which keys
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
`,Ue=`# A deal, made by you. What is wrong with the
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
`,We=`# The change log as it happens. Leave it running
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
`,Ge=`{ "first": 3 }
`,Ke=`{ "status": "NEW" }
`,qe=`{ "words": "review" }
`,Je=`{
  "input": {
    "name": "A deal made in GraphiQL",
    "value": "12500.00",
    "currency": "EUR"
  }
}
`,Ye=`{ "after": "WyJzZXF1ZW5jZSIsImEiLDFd" }
`,J=Object.assign({"./examples/01-meetings.graphql":Ne,"./examples/02-deals.graphql":Pe,"./examples/03-accounts.graphql":Fe,"./examples/04-leads.graphql":Ie,"./examples/05-campaigns.graphql":Le,"./examples/06-customer-intelligence.graphql":Re,"./examples/07-competitors.graphql":ze,"./examples/08-search.graphql":Be,"./examples/09-events.graphql":Ve,"./examples/10-credentials.graphql":He,"./examples/11-mutation.graphql":Ue,"./examples/12-subscription.graphql":We}),Xe=Object.assign({"./examples/03-accounts.json":Ge,"./examples/04-leads.json":Ke,"./examples/08-search.json":qe,"./examples/11-mutation.json":Je,"./examples/12-subscription.json":Ye}),Ze=Object.keys(J).sort().map(e=>({query:J[e],variables:Xe[e.replace(/graphql$/,`json`)]?.trim()})),Qe=B.replace(/^http/,`ws`),Y=new Set;function $e(e,{onAnswer:t,onDoubt:n}){return{subscribe(r){let i=f({url:Qe,connectionParams:T,retryAttempts:0}),a=e=>{Y.delete(a)&&(e&&(r.next(e),t(e)),r.complete(),i.dispose())};return Y.add(a),i.subscribe(e,{next:e=>r.next(e),error:e=>{a(Array.isArray(e)?{errors:e}:H(tt(e))),typeof e?.code==`number`&&n()},complete:()=>a()}),{unsubscribe:()=>a()}}}}function et(){let e=H(`The stream has ended, because the token or the organization changed.`);for(let t of[...Y])t(e)}function tt(e){return typeof e?.code==`number`?e.reason?`The service ended the stream: ${e.reason} (${e.code})`:`The connection of the stream was lost (${e.code}).`:`The service took no connection for the stream: is it still running?`}var nt=401,rt=`The operation was run, but its answer is not shown: the token or the organization changed meanwhile.`;function it({arrived:e,onAnswer:t,onCost:n,onDoubt:r}){return async function({query:i,variables:a,operationName:o}){if(o===`IntrospectionQuery`)return(await V({query:i,operationName:o},{})).answer;await e();let{name:s,kind:c}=U(i,o),l={query:i,variables:a,operationName:s};if(c===`subscription`)return $e(l,{onAnswer:t,onDoubt:r});let u=T();n(null);let{status:d,answer:f}=await V(l,{...u,...De(c)}),{answer:p,cost:m}=je(f);return JSON.stringify(u)===JSON.stringify(T())?(t(p),n(m),d===nt&&r(),p):H(rt)}}function X({cost:e}){return(0,j.jsxs)(j.Fragment,{children:[(0,j.jsx)(at,{}),(0,j.jsxs)(`div`,{className:`answer-foot`,children:[(0,j.jsx)(`p`,{className:`answer-cost`,title:e?.title,children:e?e.text:`What an operation costs is shown here`}),(0,j.jsx)(ot,{})]})]})}function at(){let{responseEditor:e}=c(t(`responseEditor`)),[n,r]=(0,g.useState)(!0);return(0,g.useEffect)(()=>{if(!e)return;let t=()=>r(!e.getValue());t();let n=e.onDidChangeModelContent(t);return()=>n.dispose()},[e]),n?(0,j.jsxs)(`p`,{className:`answer-hint`,children:[`Run the operation with `,(0,j.jsx)(`kbd`,{children:`Ctrl`}),` `,(0,j.jsx)(`kbd`,{children:`Enter`}),` or the button ▶`,(0,j.jsx)(`br`,{}),`and its answer appears here.`]}):null}function ot(){let e=(0,g.useId)(),[t,n]=(0,g.useState)(K),r=e=>n(Te(e));return(0,j.jsxs)(`div`,{className:`answer-key`,title:`A mutation that is sent again under the same key is done once`,children:[(0,j.jsx)(`label`,{htmlFor:e,children:`Idempotency-Key`}),(0,j.jsx)(`input`,{id:e,value:t,placeholder:`for mutations; none`,onChange:e=>r(e.target.value),autoComplete:`off`,spellCheck:!1}),(0,j.jsx)(`button`,{type:`button`,onClick:()=>r(Ee()),children:`New key`})]})}function st({errors:e}){let t=e?.find(e=>e.extensions?.code===`FORBIDDEN`);if(!t)return null;let n=t.extensions.required_scopes??[],r=n.length===1?n[0]:`one of ${n.length} scopes`;return{kind:`refused`,text:`Not allowed: ${t.path?.[0]??`this`} needs ${r}`}}var ct=`query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`,Z={state:`nobody`,viewer:null},lt=250,ut=new Set([`ORGANIZATION_MISMATCH`,`ORGANIZATION_NOT_ACCEPTED`]);function dt({token:e,organization:t},n,r){let[i,a]=(0,g.useState)(Z);return(0,g.useEffect)(()=>{if(!e){a(Z);return}a(e=>({...e,state:`asking`}));let n=new AbortController,i=setTimeout(async()=>{let{status:e,answer:i}=await V({query:ct},T(),n.signal);if(n.signal.aborted)return;let o=i.data?.viewer;o?(a({state:`known`,viewer:o}),!o.organization&&o.organizations.length===1&&r(o.organizations[0].id)):t&&ut.has(i.errors?.[0]?.extensions?.code)?r(``):a({state:e===401?`refused`:`silent`,viewer:null})},lt);return()=>{clearTimeout(i),n.abort()}},[e,t,n,r]),i}var ft=[s({showAttribution:!1}),d],pt=8e3,mt={kind:`refused`,text:`The link’s token was not taken: links sign in on this machine’s own service alone`},ht=720;function gt(){let[e,t]=(0,g.useState)(S),[n,r]=(0,g.useState)(0),[i,a]=(0,g.useState)(null),[o,s]=(0,g.useState)(null),[c,l]=(0,g.useState)(null),d=(0,g.useCallback)(e=>{ie(e),te(),l(null),et(),t(S())},[]),f=(0,g.useCallback)(async e=>{let t=e.code?await le(e.code):k(e,S());t.problem?a({kind:`refused`,text:t.problem}):d(t)},[d]),p=(0,g.useCallback)(e=>{let t=e?ce(e,S()):`nothing`;t===`ignore`?a(mt):t===`ask`?s(e):t===`take`&&(Q=f(e))},[f]),m=dt(e,n,(0,g.useCallback)(e=>d({...S(),organization:e}),[d])),[h]=(0,g.useState)(()=>it({arrived:()=>Q,onAnswer:e=>a(st(e)),onCost:e=>l(Ae(e)),onDoubt:()=>r(e=>e+1)}));return(0,g.useEffect)(()=>{p(_t),$&&(Q=me($).then(({token:e,problem:t})=>{t?a({kind:`refused`,text:t}):d({token:e,organization:S().organization})}));let e=()=>p(O());return addEventListener(`hashchange`,e),()=>removeEventListener(`hashchange`,e)},[p,d]),(0,g.useEffect)(()=>{let t=({persisted:t})=>{let{token:n,organization:r}=S();t&&(n!==e.token||r!==e.organization)&&location.reload()};return addEventListener(`pageshow`,t),()=>removeEventListener(`pageshow`,t)},[e]),(0,g.useEffect)(()=>{if(!i)return;let e=setTimeout(()=>a(null),pt);return()=>clearTimeout(e)},[i]),(0,j.jsxs)(j.Fragment,{children:[(0,j.jsx)(he,{credentials:e,answer:m,notice:i,onChange:d,onForget:ae,onSignIn:async()=>{let{problem:e}=await fe(`graphiql`,`graphql`);e&&a({kind:`refused`,text:e})}}),o&&(0,j.jsx)(ue,{link:o,kept:e,viewer:m.viewer,onAnswer:e=>{s(null),e&&f(o)}}),(0,j.jsx)(`main`,{children:(0,j.jsxs)(u,{fetcher:h,storage:x,plugins:ft,defaultTabs:Ze,defaultQuery:``,defaultEditorToolsVisibility:innerWidth>ht&&`variables`,inputValueDeprecation:!0,isHeadersEditorEnabled:!1,showPersistHeadersSettings:!1,children:[(0,j.jsx)(u.Logo,{children:` `}),(0,j.jsx)(u.Toolbar,{children:({prettify:e,copy:t,merge:n})=>(0,j.jsxs)(j.Fragment,{children:[e,n,t,(0,j.jsx)(Oe,{onSay:e=>a({kind:`ready`,text:e})}),(0,j.jsx)(ne,{}),(0,j.jsx)(xe,{}),(0,j.jsx)(Me,{})]})}),(0,j.jsx)(u.Footer,{children:(0,j.jsx)(X,{cost:c})})]})})]})}var Q=Promise.resolve(),_t=O(),$=pe();(0,ee.createRoot)(document.getElementById(`page`)).render((0,j.jsx)(gt,{}));