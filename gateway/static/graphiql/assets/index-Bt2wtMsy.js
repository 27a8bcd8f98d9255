import{a as e}from"./rolldown-runtime-BWaJ3C7D.js";import{_ as t,_r as n,a as r,c as i,d as a,g as o,gr as s,h as c,i as l,l as u,n as d,p as f,r as p,t as m}from"./graphiql-BnFe0tZR.js";var h=e(s(),1),g=r(),_=()=>{};function ee(){_()}function te(){let{responseEditor:e,tabs:t}=u(o(`responseEditor`,`tabs`));return(0,h.useEffect)(()=>(_=()=>{for(let e of t)e.response=null;e?.setValue(``)},()=>{_=()=>{}}),[e,t]),null}var v=`crm-gateway:token`,y=`crm-gateway:organization`,ne=/^(?:crm-gateway|graphiql):/,b=!1,x={getItem:e=>sessionStorage.getItem(e),setItem:(e,t)=>b||sessionStorage.setItem(e,t),removeItem:e=>sessionStorage.removeItem(e),clear:()=>sessionStorage.clear(),get length(){return sessionStorage.length}};function S(){return{token:sessionStorage.getItem(v)??``,organization:sessionStorage.getItem(y)??``}}function re({token:e,organization:t}){T(v,E(e)),T(y,E(t))}function C(){b=!0;for(let e of Object.keys(sessionStorage))ne.test(e)&&sessionStorage.removeItem(e);location.reload()}function w(){let{token:e,organization:t}=S(),n={};return e&&(n.authorization=`Bearer ${e}`),t&&!e.startsWith(`ak_`)&&(n[`x-service-org`]=t),n}function T(e,t){t?x.setItem(e,t):x.removeItem(e)}function E(e){return e.replace(/^\s*Bearer\s+/i,``).replace(/[^\x21-\x7e]/g,``)}var ie=/^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/,ae=new Set([`none`,`same-origin`]);function D(){let e=new URLSearchParams(location.hash.slice(1)),[t,n,r]=[`code`,`token`,`org`].map(t=>E(e.get(t)??``)||void 0);return!t&&!n&&!r?null:(history.replaceState(history.state,``,location.pathname+location.search),{code:t,token:n,organization:r})}function oe(e,t){if((e.code||e.token)&&!ie.test(location.hostname))return`ignore`;let n=O(e,t);return!e.code&&n.token===t.token&&n.organization===t.organization?`nothing`:t.token||k()?`ask`:`take`}function O({token:e,organization:t},n){return e?{token:e,organization:t??``}:{token:n.token,organization:t??n.organization}}function k(){let e=document.querySelector(`meta[name=led-by]`).content;return e&&!ae.has(e)?!0:document.referrer!==``&&new URL(document.referrer).origin!==location.origin}async function se(e){let t;try{if(t=await fetch(new URL(`demo/token`,document.baseURI),{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`},body:JSON.stringify({code:e})}),t.ok)return await t.json()}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`The code of this link was used already, or has run out: paste the token instead`}}var A=n();function ce({link:e,kept:t,viewer:n,onAnswer:r}){let i=(0,h.useRef)(null),[a,o]=[(0,h.useId)(),(0,h.useId)()];(0,h.useEffect)(()=>i.current.showModal(),[]);let s=O(e,t);return(0,A.jsxs)(`dialog`,{ref:i,className:`ask`,"aria-labelledby":a,"aria-describedby":o,onClose:()=>r(!1),children:[(0,A.jsx)(`h2`,{id:a,children:t.token?`Replace what this tab keeps?`:`Use what this link brings?`}),(0,A.jsxs)(`p`,{id:o,children:[k()?`Another site led here. `:`A link was opened here. `,`What you run afterwards, writes included, goes to the organization that the link names. Use it only if you know who made it.`]}),(0,A.jsxs)(`table`,{children:[(0,A.jsx)(`thead`,{children:(0,A.jsxs)(`tr`,{children:[(0,A.jsx)(`td`,{}),(0,A.jsx)(`th`,{scope:`col`,children:`Kept now`}),(0,A.jsx)(`th`,{scope:`col`,children:`After the link`})]})}),(0,A.jsxs)(`tbody`,{children:[(0,A.jsxs)(`tr`,{children:[(0,A.jsx)(`th`,{scope:`row`,children:`Token`}),(0,A.jsx)(`td`,{children:j(t.token)}),(0,A.jsx)(`td`,{children:e.code?`a new one of the demo`:e.token?j(e.token):`stays`})]}),(0,A.jsxs)(`tr`,{children:[(0,A.jsx)(`th`,{scope:`row`,children:`Organization`}),(0,A.jsx)(`td`,{children:n?.organization?.name??(t.organization||`none`)}),(0,A.jsx)(`td`,{children:e.code?`the demo’s`:le(s.organization,n)||`the token’s own`})]})]})]}),(0,A.jsxs)(`div`,{className:`ask-buttons`,children:[(0,A.jsx)(`button`,{type:`button`,autoFocus:!0,onClick:()=>r(!1),children:t.token?`Keep what is here`:`Do not use it`}),(0,A.jsx)(`button`,{type:`button`,onClick:()=>r(!0),children:`Use the link`})]})]})}function j(e){return e?`ends in …${e.slice(-4)}`:`none`}function le(e,t){return t?.organizations.find(t=>t.id===e)?.name??e}var M=`crm-gateway:sign-in`,N=document.querySelector(`meta[name=sign-in]`)?.content===`on`;async function ue(e,t){if(!crypto.subtle)return{problem:`Signing in needs https, or the service on this machine`};let[n,r]=[P(),P()],i=new URL(t,document.baseURI);i.search=i.hash=``,sessionStorage.setItem(M,JSON.stringify({client:e,verifier:n,state:r,redirect:i.href}));let a=new URLSearchParams({response_type:`code`,client_id:e,redirect_uri:i.href,code_challenge:F(await crypto.subtle.digest(`SHA-256`,new TextEncoder().encode(n))),code_challenge_method:`S256`,state:r});return location.assign(new URL(`oauth/authorize?${a}`,document.baseURI)),{}}function de(){let e=new URLSearchParams(location.search);if(!e.has(`state`)||!(e.has(`code`)||e.has(`error`)))return null;history.replaceState(history.state,``,location.pathname+location.hash);let t=JSON.parse(sessionStorage.getItem(M)??`null`);return sessionStorage.removeItem(M),t?.state===e.get(`state`)?{...t,code:e.get(`code`)}:null}async function fe({client:e,verifier:t,redirect:n,code:r}){if(!r)return{problem:`Nobody was signed in`};try{let i=await fetch(new URL(`oauth/token`,document.baseURI),{method:`POST`,credentials:`omit`,body:new URLSearchParams({grant_type:`authorization_code`,client_id:e,redirect_uri:n,code:r,code_verifier:t})});if(i.ok)return{token:(await i.json()).access_token}}catch{return{problem:`The service did not answer: is it still running?`}}return{problem:`Signing in took too long: please try again`}}function P(){return F(crypto.getRandomValues(new Uint8Array(32)))}function F(e){return btoa(String.fromCharCode(...new Uint8Array(e))).replaceAll(`+`,`-`).replaceAll(`/`,`_`).replaceAll(`=`,``)}var pe={SESSION:`session token`,ORGANIZATION_KEY:`organization key`,USER_TOKEN:`user token`};function me({viewer:e,onForget:t}){let{subject:n,name:r,email:i,credentialKind:a,organization:o,scopes:s}=e;return(0,A.jsxs)(A.Fragment,{children:[(0,A.jsxs)(`button`,{type:`button`,className:`bar-who`,popoverTarget:`who`,"aria-haspopup":`dialog`,children:[(0,A.jsx)(`b`,{children:r??n}),` · `,s.length,` `,s.length===1?`scope`:`scopes`,(0,A.jsx)(`span`,{"aria-hidden":`true`,children:` ▾`})]}),(0,A.jsxs)(`section`,{id:`who`,className:`who`,popover:`auto`,"aria-label":`Who am I`,children:[(0,A.jsxs)(`dl`,{children:[(0,A.jsx)(`dt`,{children:`Subject`}),(0,A.jsx)(`dd`,{children:(0,A.jsx)(`code`,{children:n})}),i&&(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(`dt`,{children:`E-mail`}),(0,A.jsx)(`dd`,{children:i})]}),(0,A.jsx)(`dt`,{children:`Credential`}),(0,A.jsx)(`dd`,{children:pe[a]??a}),(0,A.jsx)(`dt`,{children:`Acts in`}),(0,A.jsx)(`dd`,{children:o?o.name:`no organization yet`}),o&&(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(`dt`,{children:`X-Service-Org`}),(0,A.jsx)(`dd`,{children:(0,A.jsx)(`code`,{children:o.id})})]})]}),(0,A.jsx)(`h2`,{children:`Scopes`}),(0,A.jsx)(`ul`,{children:[...I(s)].map(([e,t])=>(0,A.jsxs)(`li`,{children:[(0,A.jsx)(`code`,{children:e}),` `,t.join(`, `)]},e))}),(0,A.jsx)(`button`,{type:`button`,onClick:t,children:`Forget the token`}),N&&(0,A.jsx)(`p`,{children:(0,A.jsx)(`a`,{href:`oauth/logout`,children:`Sign out of this browser`})})]})]})}function I(e){let t=new Map;for(let n of e){let[e,r]=n.split(`:`);t.set(e,[...t.get(e)??[],r])}return t}function L({credentials:e,answer:t,notice:n,onChange:r,onForget:i,onSignIn:a}){let{token:o,organization:s}=e;return(0,A.jsxs)(`header`,{className:`bar`,children:[(0,A.jsx)(`h1`,{children:(0,A.jsx)(`a`,{href:`./`,title:`What is here`,children:`CRM gateway`})}),(0,A.jsx)(R,{value:o,onChange:e=>r({token:e,organization:s})}),N&&(!o||t.state===`refused`)&&(0,A.jsx)(`button`,{type:`button`,className:`bar-sign-in`,onClick:a,children:`Sign in`}),(0,A.jsx)(z,{viewer:t.viewer,chosen:s,onChange:e=>r({token:o,organization:e})}),o&&t.viewer&&(0,A.jsx)(me,{viewer:t.viewer,onForget:i}),(0,A.jsx)(he,{answer:t,notice:n}),(0,A.jsxs)(`nav`,{className:`bar-links`,children:[(0,A.jsx)(`a`,{href:`graphql/schema.graphql`,title:`The schema as text (SDL)`,children:`Schema`}),(0,A.jsx)(`a`,{href:`docs`,title:`The REST paths, in Swagger UI`,children:`REST`})]})]})}function R({value:e,onChange:t}){let n=(0,h.useId)(),[r,i]=(0,h.useState)(!1);return(0,A.jsxs)(`div`,{className:`bar-field bar-token`,children:[(0,A.jsx)(`label`,{htmlFor:n,children:`Token`}),(0,A.jsx)(`input`,{id:n,type:r?`text`:`password`,value:e,placeholder:`paste a session token, ak_… or pat_…`,onChange:e=>t(e.target.value),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,"data-1p-ignore":!0}),e&&(0,A.jsx)(`button`,{type:`button`,"aria-pressed":r,onClick:()=>i(!r),children:r?`Hide`:`Show`})]})}function z({viewer:e,chosen:t,onChange:n}){let r=(0,h.useId)(),i=e?.organizations??[],a=e?.organization,o=a&&!i.some(e=>e.id===a.id)?[a,...i]:i,s=o.some(e=>e.id===t)?t:a?.id??``,c=e?.credentialKind===`ORGANIZATION_KEY`||o.length<1;return(0,A.jsxs)(`div`,{className:`bar-field`,children:[(0,A.jsx)(`label`,{htmlFor:r,children:`Organization`}),(0,A.jsxs)(`select`,{id:r,value:s,disabled:c,onChange:e=>n(e.target.value),children:[!s&&(0,A.jsx)(`option`,{value:``,children:e?`choose one …`:`—`}),o.map(e=>(0,A.jsx)(`option`,{value:e.id,title:e.id,children:e.name},e.id))]})]})}function he({answer:e,notice:t}){let{kind:n,text:r}=t??ge(e);return(0,A.jsx)(`p`,{className:`bar-status bar-status-${n}`,role:`status`,title:r,children:r})}function ge({state:e,viewer:t}){return e===`nobody`?{kind:`waiting`,text:`Paste a token to run operations`}:e===`refused`?{kind:`refused`,text:`The service refused this token`}:e===`silent`?{kind:`refused`,text:`The service does not say who this is`}:t?t.organization?{kind:`ready`,text:`Kept in this tab only`}:{kind:`waiting`,text:`Choose an organization`}:{kind:`asking`,text:`Asking who this is …`}}a();var B=location.origin+location.pathname,_e=`application/graphql-response+json, application/json;q=0.9`;async function V(e,t,n){let r;try{r=await fetch(B,{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`,accept:_e,...t},body:JSON.stringify(e),signal:n})}catch{return{status:0,answer:H(`The service did not answer: is it still running?`)}}try{return{status:r.status,answer:await r.json()}}catch{return{status:r.status,answer:H(`The answer is not JSON: HTTP ${r.status}`)}}}function H(e){return{errors:[{message:e}]}}function U(e,t){let n;try{n=c(e).definitions.filter(e=>e.kind===`OperationDefinition`)}catch{return{}}let r=n.length===1?n[0]:n.find(e=>e.name?.value===t);return{name:r?.name?.value,kind:r?.operation}}a();function ve({query:e,variables:t,operationName:n,organization:r,key:i}){let a={query:ye(e)};t&&Object.keys(t).length>0&&(a.variables=t);let{name:o,kind:s}=U(e,n);o&&(a.operationName=o);let c=s===`subscription`,l=[`curl ${c?`--no-buffer`:`--silent --show-error`} ${W(B)}`,`--header 'Content-Type: application/json'`,'--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"'];return r&&l.push(`--header ${W(`X-Service-Org: ${r}`)}`),i&&s===`mutation`&&l.push(`--header ${W(`Idempotency-Key: ${i}`)}`),c&&l.push(`--header 'Accept: text/event-stream'`),l.push(`--data-raw ${W(JSON.stringify(a))}`),`${l.join(` \\
  `)}\n`}function W(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function ye(e){try{return f(e)}catch{return e}}var G=``;function K(){return G}function be(e){return G=e.replace(/[^\x21-\x7e]/g,``),G}function xe(){return[...crypto.getRandomValues(new Uint8Array(16))].map(e=>e.toString(16).padStart(2,`0`)).join(``)}function Se(e){return G&&e===`mutation`?{"idempotency-key":G}:{}}function Ce({onSay:e}){let{queryEditor:n,variableEditor:r,operationName:a}=u(o(`queryEditor`,`variableEditor`,`operationName`));async function s(){let i;try{i=t(r?.getValue())}catch{e(`Not copied: the variables are not valid JSON`);return}let o=w()[`x-service-org`];await we(ve({query:n?.getValue()??``,variables:i,operationName:a,organization:o,key:K()})),e(`Copied; the command takes the token from CRM_TOKEN`)}return(0,A.jsx)(i,{label:`Copy as curl`,onClick:s,children:(0,A.jsxs)(`svg`,{className:`graphiql-toolbar-icon`,viewBox:`0 0 20 20`,fill:`none`,stroke:`currentColor`,strokeWidth:`1.5`,"aria-hidden":`true`,children:[(0,A.jsx)(`rect`,{x:`1.5`,y:`3`,width:`17`,height:`14`,rx:`3`}),(0,A.jsx)(`path`,{d:`M5 8l3 2.5L5 13M10 13.5h5`,strokeLinecap:`round`,strokeLinejoin:`round`})]})})}async function we(e){if(navigator.clipboard){await navigator.clipboard.writeText(e);return}let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}function Te(e){if(!e)return null;let{requested:t,actual:n,throttle:r}=e;return{text:`Cost ${q(n)} · ${r.available.toLocaleString(`en`)} of ${r.maximum.toLocaleString(`en`)} left`,title:`Asked for ${q(t)}, took ${q(n)}; ${r.restoreRate} come back each second`}}function Ee(e){if(!e?.extensions?.cost)return{answer:e,cost:null};let{extensions:t,...n}=e,{cost:r,...i}=t;return{answer:Object.keys(i).length>0?{...n,extensions:i}:n,cost:r}}function q(e){return`${e.toLocaleString(`en`)} ${e===1?`point`:`points`}`}var De=`# The next five meetings
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
`,Oe=`# The board: what stands in each stage, and
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
`,ke=`# Accounts, and how they are: the score is
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
`,Ae=`# New leads: who was captured, and how.

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
`,je=`# Outreach: what is written, from which
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
`,Me=`# Research of customer experience: a run, its
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
`,Ne=`# Competitors, and the deals where they
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
`,Pe=`# One search over accounts, contacts, deals,
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
`,Fe=`# The change log, oldest first, and who is
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
`,Ie=`# Who am I, what may I do, and which keys
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
`,Le=`# A deal, made by you. What is wrong with the
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
`,Re=`# The change log as it happens. Leave it running
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
`,ze=`{ "first": 3 }
`,Be=`{ "status": "NEW" }
`,Ve=`{ "words": "review" }
`,He=`{
  "input": {
    "name": "A deal made in GraphiQL",
    "value": "12500.00",
    "currency": "EUR"
  }
}
`,Ue=`{ "after": "WyJzZXF1ZW5jZSIsImEiLDFd" }
`,J=Object.assign({"./examples/01-meetings.graphql":De,"./examples/02-deals.graphql":Oe,"./examples/03-accounts.graphql":ke,"./examples/04-leads.graphql":Ae,"./examples/05-campaigns.graphql":je,"./examples/06-customer-intelligence.graphql":Me,"./examples/07-competitors.graphql":Ne,"./examples/08-search.graphql":Pe,"./examples/09-events.graphql":Fe,"./examples/10-credentials.graphql":Ie,"./examples/11-mutation.graphql":Le,"./examples/12-subscription.graphql":Re}),We=Object.assign({"./examples/03-accounts.json":ze,"./examples/04-leads.json":Be,"./examples/08-search.json":Ve,"./examples/11-mutation.json":He,"./examples/12-subscription.json":Ue}),Ge=Object.keys(J).sort().map(e=>({query:J[e],variables:We[e.replace(/graphql$/,`json`)]?.trim()})),Ke=B.replace(/^http/,`ws`),Y=new Set;function qe(e,{onAnswer:t,onDoubt:n}){return{subscribe(r){let i=m({url:Ke,connectionParams:w,retryAttempts:0}),a=e=>{Y.delete(a)&&(e&&(r.next(e),t(e)),r.complete(),i.dispose())};return Y.add(a),i.subscribe(e,{next:e=>r.next(e),error:e=>{a(Array.isArray(e)?{errors:e}:H(Ye(e))),typeof e?.code==`number`&&n()},complete:()=>a()}),{unsubscribe:()=>a()}}}}function Je(){let e=H(`The stream has ended, because the token or the organization changed.`);for(let t of[...Y])t(e)}function Ye(e){return typeof e?.code==`number`?e.reason?`The service ended the stream: ${e.reason} (${e.code})`:`The connection of the stream was lost (${e.code}).`:`The service took no connection for the stream: is it still running?`}var Xe=401,Ze=`The operation was run, but its answer is not shown: the token or the organization changed meanwhile.`;function Qe({onAnswer:e,onCost:t,onDoubt:n}){return async function({query:r,variables:i,operationName:a}){if(a===`IntrospectionQuery`)return(await V({query:r,operationName:a},{})).answer;let{name:o,kind:s}=U(r,a),c={query:r,variables:i,operationName:o};if(s===`subscription`)return qe(c,{onAnswer:e,onDoubt:n});let l=w();t(null);let{status:u,answer:d}=await V(c,{...l,...Se(s)}),{answer:f,cost:p}=Ee(d);return JSON.stringify(l)===JSON.stringify(w())?(e(f),t(p),u===Xe&&n(),f):H(Ze)}}function $e({cost:e}){return(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(et,{}),(0,A.jsxs)(`div`,{className:`answer-foot`,children:[(0,A.jsx)(`p`,{className:`answer-cost`,title:e?.title,children:e?e.text:`What an operation costs is shown here`}),(0,A.jsx)(tt,{})]})]})}function et(){let{responseEditor:e}=u(o(`responseEditor`)),[t,n]=(0,h.useState)(!0);return(0,h.useEffect)(()=>{if(!e)return;let t=()=>n(!e.getValue());t();let r=e.onDidChangeModelContent(t);return()=>r.dispose()},[e]),t?(0,A.jsxs)(`p`,{className:`answer-hint`,children:[`Run the operation with `,(0,A.jsx)(`kbd`,{children:`Ctrl`}),` `,(0,A.jsx)(`kbd`,{children:`Enter`}),` or the button ▶`,(0,A.jsx)(`br`,{}),`and its answer appears here.`]}):null}function tt(){let e=(0,h.useId)(),[t,n]=(0,h.useState)(K),r=e=>n(be(e));return(0,A.jsxs)(`div`,{className:`answer-key`,title:`A mutation that is sent again under the same key is done once`,children:[(0,A.jsx)(`label`,{htmlFor:e,children:`Idempotency-Key`}),(0,A.jsx)(`input`,{id:e,value:t,placeholder:`for mutations; none`,onChange:e=>r(e.target.value),autoComplete:`off`,spellCheck:!1}),(0,A.jsx)(`button`,{type:`button`,onClick:()=>r(xe()),children:`New key`})]})}function nt({errors:e}){let t=e?.find(e=>e.extensions?.code===`FORBIDDEN`);if(!t)return null;let n=t.extensions.required_scopes??[],r=n.length===1?n[0]:`one of ${n.length} scopes`;return{kind:`refused`,text:`Not allowed: ${t.path?.[0]??`this`} needs ${r}`}}var rt=`query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`,X={state:`nobody`,viewer:null},Z=250,it=new Set([`ORGANIZATION_MISMATCH`,`ORGANIZATION_NOT_ACCEPTED`]);function at({token:e,organization:t},n,r){let[i,a]=(0,h.useState)(X);return(0,h.useEffect)(()=>{if(!e){a(X);return}a(e=>({...e,state:`asking`}));let n=new AbortController,i=setTimeout(async()=>{let{status:e,answer:i}=await V({query:rt},w(),n.signal);if(n.signal.aborted)return;let o=i.data?.viewer;o?(a({state:`known`,viewer:o}),!o.organization&&o.organizations.length===1&&r(o.organizations[0].id)):t&&it.has(i.errors?.[0]?.extensions?.code)?r(``):a({state:e===401?`refused`:`silent`,viewer:null})},Z);return()=>{clearTimeout(i),n.abort()}},[e,t,n,r]),i}var ot=[l({showAttribution:!1}),p],st=8e3,ct={kind:`refused`,text:`The link’s token was not taken: links sign in on this machine’s own service alone`},lt=720;function ut(){let[e,t]=(0,h.useState)(S),[n,r]=(0,h.useState)(0),[i,a]=(0,h.useState)(null),[o,s]=(0,h.useState)(null),[c,l]=(0,h.useState)(null),u=(0,h.useCallback)(e=>{re(e),ee(),l(null),Je(),t(S())},[]),f=(0,h.useCallback)(async e=>{let t=e.code?await se(e.code):O(e,S());t.problem?a({kind:`refused`,text:t.problem}):u(t)},[u]),p=(0,h.useCallback)(e=>{let t=e?oe(e,S()):`nothing`;t===`ignore`?a(ct):t===`ask`?s(e):t===`take`&&f(e)},[f]),m=at(e,n,(0,h.useCallback)(e=>u({...S(),organization:e}),[u])),[g]=(0,h.useState)(()=>Qe({onAnswer:e=>a(nt(e)),onCost:e=>l(Te(e)),onDoubt:()=>r(e=>e+1)}));return(0,h.useEffect)(()=>{p(ft),$&&fe($).then(({token:e,problem:t})=>{t?a({kind:`refused`,text:t}):u({token:e,organization:S().organization})});let e=()=>p(D());return addEventListener(`hashchange`,e),()=>removeEventListener(`hashchange`,e)},[p,u]),(0,h.useEffect)(()=>{let t=({persisted:t})=>{let{token:n,organization:r}=S();t&&(n!==e.token||r!==e.organization)&&location.reload()};return addEventListener(`pageshow`,t),()=>removeEventListener(`pageshow`,t)},[e]),(0,h.useEffect)(()=>{if(!i)return;let e=setTimeout(()=>a(null),st);return()=>clearTimeout(e)},[i]),(0,A.jsxs)(A.Fragment,{children:[(0,A.jsx)(L,{credentials:e,answer:m,notice:i,onChange:u,onForget:dt,onSignIn:async()=>{let{problem:e}=await ue(`graphiql`,`graphql`);e&&a({kind:`refused`,text:e})}}),o&&(0,A.jsx)(ce,{link:o,kept:e,viewer:m.viewer,onAnswer:e=>{s(null),e&&f(o)}}),(0,A.jsx)(`main`,{children:(0,A.jsxs)(d,{fetcher:g,storage:x,plugins:ot,defaultTabs:Ge,defaultQuery:``,defaultEditorToolsVisibility:innerWidth>lt&&`variables`,inputValueDeprecation:!0,isHeadersEditorEnabled:!1,showPersistHeadersSettings:!1,children:[(0,A.jsx)(d.Logo,{children:` `}),(0,A.jsx)(d.Toolbar,{children:({prettify:e,copy:t,merge:n})=>(0,A.jsxs)(A.Fragment,{children:[e,n,t,(0,A.jsx)(Ce,{onSay:e=>a({kind:`ready`,text:e})}),(0,A.jsx)(te,{})]})}),(0,A.jsx)(d.Footer,{children:(0,A.jsx)($e,{cost:c})})]})})]})}var Q=new BroadcastChannel(`crm-gateway:forget`);Q.onmessage=({data:e})=>{e&&e===S().token&&C()};function dt(){Q.postMessage(S().token),C()}var ft=D(),$=de();(0,g.createRoot)(document.getElementById(`page`)).render((0,A.jsx)(ut,{}));