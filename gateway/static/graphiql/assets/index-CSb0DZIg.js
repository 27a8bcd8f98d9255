import{a as e}from"./rolldown-runtime-BWaJ3C7D.js";import{_ as t,_r as n,a as r,c as i,d as a,g as o,gr as s,h as c,i as l,l as u,n as d,p as f,r as ee,t as te}from"./graphiql-CKGXxuKi.js";var p=e(s(),1),m=r(),h=n(),g={SESSION:`session token`,ORGANIZATION_KEY:`organization key`,USER_TOKEN:`user token`};function _({viewer:e,onForget:t}){let{subject:n,name:r,email:i,credentialKind:a,organization:o,scopes:s}=e;return(0,h.jsxs)(h.Fragment,{children:[(0,h.jsxs)(`button`,{type:`button`,className:`bar-who`,popoverTarget:`who`,"aria-haspopup":`dialog`,children:[(0,h.jsx)(`b`,{children:r??n}),` · `,s.length,` `,s.length===1?`scope`:`scopes`,(0,h.jsx)(`span`,{"aria-hidden":`true`,children:` ▾`})]}),(0,h.jsxs)(`section`,{id:`who`,className:`who`,popover:`auto`,"aria-label":`Who am I`,children:[(0,h.jsxs)(`dl`,{children:[(0,h.jsx)(`dt`,{children:`Subject`}),(0,h.jsx)(`dd`,{children:(0,h.jsx)(`code`,{children:n})}),i&&(0,h.jsxs)(h.Fragment,{children:[(0,h.jsx)(`dt`,{children:`E-mail`}),(0,h.jsx)(`dd`,{children:i})]}),(0,h.jsx)(`dt`,{children:`Credential`}),(0,h.jsx)(`dd`,{children:g[a]??a}),(0,h.jsx)(`dt`,{children:`Acts in`}),(0,h.jsx)(`dd`,{children:o?o.name:`no organization yet`}),o&&(0,h.jsxs)(h.Fragment,{children:[(0,h.jsx)(`dt`,{children:`X-Service-Org`}),(0,h.jsx)(`dd`,{children:(0,h.jsx)(`code`,{children:o.id})})]})]}),(0,h.jsx)(`h2`,{children:`Scopes`}),(0,h.jsx)(`ul`,{children:[...v(s)].map(([e,t])=>(0,h.jsxs)(`li`,{children:[(0,h.jsx)(`code`,{children:e}),` `,t.join(`, `)]},e))}),(0,h.jsx)(`button`,{type:`button`,onClick:t,children:`Forget the token`})]})]})}function v(e){let t=new Map;for(let n of e){let[e,r]=n.split(`:`);t.set(e,[...t.get(e)??[],r])}return t}function y({credentials:e,answer:t,notice:n,onChange:r}){let{token:i,organization:a}=e;return(0,h.jsxs)(`header`,{className:`bar`,children:[(0,h.jsx)(`h1`,{children:(0,h.jsx)(`a`,{href:`./`,title:`What is here`,children:`CRM gateway`})}),(0,h.jsx)(b,{value:i,onChange:e=>r({token:e,organization:a})}),(0,h.jsx)(x,{viewer:t.viewer,chosen:a,onChange:e=>r({token:i,organization:e})}),i&&t.viewer&&(0,h.jsx)(_,{viewer:t.viewer,onForget:()=>r({token:``,organization:``})}),(0,h.jsx)(S,{answer:t,notice:n}),(0,h.jsxs)(`nav`,{className:`bar-links`,children:[(0,h.jsx)(`a`,{href:`graphql/schema.graphql`,title:`The schema as text (SDL)`,children:`Schema`}),(0,h.jsx)(`a`,{href:`docs`,title:`The REST paths, in Swagger UI`,children:`REST`})]})]})}function b({value:e,onChange:t}){let n=(0,p.useId)(),[r,i]=(0,p.useState)(!1);return(0,h.jsxs)(`div`,{className:`bar-field bar-token`,children:[(0,h.jsx)(`label`,{htmlFor:n,children:`Token`}),(0,h.jsx)(`input`,{id:n,type:r?`text`:`password`,value:e,placeholder:`paste a session token, ak_… or pat_…`,onChange:e=>t(e.target.value),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,"data-1p-ignore":!0}),e&&(0,h.jsx)(`button`,{type:`button`,"aria-pressed":r,onClick:()=>i(!r),children:r?`Hide`:`Show`})]})}function x({viewer:e,chosen:t,onChange:n}){let r=(0,p.useId)(),i=e?.organizations??[],a=e?.organization,o=a&&!i.some(e=>e.id===a.id)?[a,...i]:i,s=o.some(e=>e.id===t)?t:a?.id??``,c=e?.credentialKind===`ORGANIZATION_KEY`||o.length<1;return(0,h.jsxs)(`div`,{className:`bar-field`,children:[(0,h.jsx)(`label`,{htmlFor:r,children:`Organization`}),(0,h.jsxs)(`select`,{id:r,value:s,disabled:c,onChange:e=>n(e.target.value),children:[!s&&(0,h.jsx)(`option`,{value:``,children:e?`choose one …`:`—`}),o.map(e=>(0,h.jsx)(`option`,{value:e.id,title:e.id,children:e.name},e.id))]})]})}function S({answer:e,notice:t}){let{kind:n,text:r}=t??ne(e);return(0,h.jsx)(`p`,{className:`bar-status bar-status-${n}`,role:`status`,title:r,children:r})}function ne({state:e,viewer:t}){return e===`nobody`?{kind:`waiting`,text:`Paste a token to run operations`}:e===`refused`?{kind:`refused`,text:`The service refused this token`}:e===`silent`?{kind:`refused`,text:`The service does not say who this is`}:t?t.organization?{kind:`ready`,text:`Kept in this tab only`}:{kind:`waiting`,text:`Choose an organization`}:{kind:`asking`,text:`Asking who this is …`}}var C=`crm-gateway:token`,w=`crm-gateway:organization`;function re(){let e=new URLSearchParams(location.hash.slice(1));(e.has(`token`)||e.has(`org`))&&(E({token:e.get(`token`)??``,organization:e.get(`org`)??``}),history.replaceState(history.state,``,location.pathname+location.search))}function T(){return{token:sessionStorage.getItem(C)??``,organization:sessionStorage.getItem(w)??``}}function E({token:e,organization:t}){O(C,k(e)),O(w,k(t))}function D(){let{token:e,organization:t}=T(),n={};return e&&(n.authorization=`Bearer ${e}`),t&&!e.startsWith(`ak_`)&&(n[`x-service-org`]=t),n}function O(e,t){t?sessionStorage.setItem(e,t):sessionStorage.removeItem(e)}function k(e){return e.replace(/^\s*Bearer\s+/i,``).replace(/[^\x21-\x7e]/g,``)}a();var A=location.origin+location.pathname,j=`application/graphql-response+json, application/json;q=0.9`;async function M(e,t,n){let r;try{r=await fetch(A,{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`,accept:j,...t},body:JSON.stringify(e),signal:n})}catch{return{status:0,answer:N(`The service did not answer: is it still running?`)}}try{return{status:r.status,answer:await r.json()}}catch{return{status:r.status,answer:N(`The answer is not JSON: HTTP ${r.status}`)}}}function N(e){return{errors:[{message:e}]}}function P(e,t){let n;try{n=c(e).definitions.filter(e=>e.kind===`OperationDefinition`)}catch{return{}}let r=n.length===1?n[0]:n.find(e=>e.name?.value===t);return{name:r?.name?.value,kind:r?.operation}}a();function F({query:e,variables:t,operationName:n,organization:r}){let i={query:L(e)};t&&Object.keys(t).length>0&&(i.variables=t);let{name:a,kind:o}=P(e,n);a&&(i.operationName=a);let s=o===`subscription`,c=[`curl ${s?`--no-buffer`:`--silent --show-error`} ${I(A)}`,`--header 'Content-Type: application/json'`,'--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"'];return r&&c.push(`--header ${I(`X-Service-Org: ${r}`)}`),s&&c.push(`--header 'Accept: text/event-stream'`),c.push(`--data-raw ${I(JSON.stringify(i))}`),`${c.join(` \\
  `)}\n`}function I(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function L(e){try{return f(e)}catch{return e}}function R({onSay:e}){let{queryEditor:n,variableEditor:r,operationName:a}=u(o(`queryEditor`,`variableEditor`,`operationName`));async function s(){let i;try{i=t(r?.getValue())}catch{e(`Not copied: the variables are not valid JSON`);return}let o=D()[`x-service-org`];await z(F({query:n?.getValue()??``,variables:i,operationName:a,organization:o})),e(`Copied; the command takes the token from CRM_TOKEN`)}return(0,h.jsx)(i,{label:`Copy as curl`,onClick:s,children:(0,h.jsxs)(`svg`,{className:`graphiql-toolbar-icon`,viewBox:`0 0 20 20`,fill:`none`,stroke:`currentColor`,strokeWidth:`1.5`,"aria-hidden":`true`,children:[(0,h.jsx)(`rect`,{x:`1.5`,y:`3`,width:`17`,height:`14`,rx:`3`}),(0,h.jsx)(`path`,{d:`M5 8l3 2.5L5 13M10 13.5h5`,strokeLinecap:`round`,strokeLinejoin:`round`})]})})}async function z(e){if(navigator.clipboard){await navigator.clipboard.writeText(e);return}let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var B=`# The five latest meetings
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
`,V=`# The board: what stands in each stage, and
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
`,H=`# Accounts, and how they are: the score is
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
`,U=`# New leads: who was captured, and how.

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
`,W=`# Outreach: what is written, from which
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
`,G=`# Research of customer experience: a run, its
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
`,K=`# Competitors, and the deals where they
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
`,q=`# One search over accounts, contacts, deals,
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
`,J=`# The change log, oldest first, and who is
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
`,ie=`# Who am I, what may I do, and which keys
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
`,Y=`# A deal, made by you. What is wrong with the
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
`,ae=`# The change log as it happens. Leave it running
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
`,oe=`{ "first": 3 }
`,se=`{ "status": "NEW" }
`,ce=`{ "words": "review" }
`,le=`{
  "input": {
    "name": "A deal made in GraphiQL",
    "value": "12500.00",
    "currency": "EUR"
  }
}
`,ue=`{ "after": "WyJzZXF1ZW5jZSIsImEiLDFd" }
`,X=Object.assign({"./examples/01-meetings.graphql":B,"./examples/02-deals.graphql":V,"./examples/03-accounts.graphql":H,"./examples/04-leads.graphql":U,"./examples/05-campaigns.graphql":W,"./examples/06-customer-intelligence.graphql":G,"./examples/07-competitors.graphql":K,"./examples/08-search.graphql":q,"./examples/09-events.graphql":J,"./examples/10-credentials.graphql":ie,"./examples/11-mutation.graphql":Y,"./examples/12-subscription.graphql":ae}),de=Object.assign({"./examples/03-accounts.json":oe,"./examples/04-leads.json":se,"./examples/08-search.json":ce,"./examples/11-mutation.json":le,"./examples/12-subscription.json":ue}),fe=Object.keys(X).sort().map(e=>({query:X[e],variables:de[e.replace(/graphql$/,`json`)]?.trim()})),pe=A.replace(/^http/,`ws`),Z=new Set;function me(e,{onAnswer:t,onDoubt:n}){return{subscribe(r){let i=te({url:pe,connectionParams:D,retryAttempts:0}),a=e=>{Z.delete(a)&&(e&&(r.next(e),t(e)),r.complete(),i.dispose())};return Z.add(a),i.subscribe(e,{next:e=>r.next(e),error:e=>{a(Array.isArray(e)?{errors:e}:N(ge(e))),typeof e?.code==`number`&&n()},complete:()=>a()}),{unsubscribe:()=>a()}}}}function he(){let e=N(`The stream has ended, because the token or the organization changed.`);for(let t of[...Z])t(e)}function ge(e){return typeof e?.code==`number`?e.reason?`The service ended the stream: ${e.reason} (${e.code})`:`The connection of the stream was lost (${e.code}).`:`The service took no connection for the stream: is it still running?`}var _e=401;function ve({onAnswer:e,onDoubt:t}){return async function({query:n,variables:r,operationName:i}){if(i===`IntrospectionQuery`)return(await M({query:n,operationName:i},{})).answer;let{name:a,kind:o}=P(n,i),s={query:n,variables:r,operationName:a};if(o===`subscription`)return me(s,{onAnswer:e,onDoubt:t});let{status:c,answer:l}=await M(s,D());return e(l),c===_e&&t(),l}}function ye({errors:e}){let t=e?.find(e=>e.extensions?.code===`FORBIDDEN`);if(!t)return null;let n=t.extensions.required_scopes??[],r=n.length===1?n[0]:`one of ${n.length} scopes`;return{kind:`refused`,text:`Not allowed: ${t.path?.[0]??`this`} needs ${r}`}}var be=`query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`,Q={state:`nobody`,viewer:null},$=250,xe=new Set([`ORGANIZATION_MISMATCH`,`ORGANIZATION_NOT_ACCEPTED`]);function Se({token:e,organization:t},n,r){let[i,a]=(0,p.useState)(Q);return(0,p.useEffect)(()=>{if(!e){a(Q);return}a(e=>({...e,state:`asking`}));let n=new AbortController,i=setTimeout(async()=>{let{status:e,answer:i}=await M({query:be},D(),n.signal);if(n.signal.aborted)return;let o=i.data?.viewer;o?(a({state:`known`,viewer:o}),!o.organization&&o.organizations.length===1&&r(o.organizations[0].id)):t&&xe.has(i.errors?.[0]?.extensions?.code)?r(``):a({state:e===401?`refused`:`silent`,viewer:null})},$);return()=>{clearTimeout(i),n.abort()}},[e,t,n,r]),i}var Ce=[l({showAttribution:!1}),ee],we=8e3,Te=720;function Ee(){let[e,t]=(0,p.useState)(T),[n,r]=(0,p.useState)(0),[i,a]=(0,p.useState)(null),o=(0,p.useCallback)(e=>{E(e),he(),t(T())},[]),s=Se(e,n,(0,p.useCallback)(e=>o({...T(),organization:e}),[o])),[c]=(0,p.useState)(()=>ve({onAnswer:e=>a(ye(e)),onDoubt:()=>r(e=>e+1)}));return(0,p.useEffect)(()=>{if(!i)return;let e=setTimeout(()=>a(null),we);return()=>clearTimeout(e)},[i]),(0,h.jsxs)(h.Fragment,{children:[(0,h.jsx)(y,{credentials:e,answer:s,notice:i,onChange:o}),(0,h.jsx)(`main`,{children:(0,h.jsxs)(d,{fetcher:c,storage:sessionStorage,plugins:Ce,defaultTabs:fe,defaultQuery:``,defaultEditorToolsVisibility:innerWidth>Te&&`variables`,inputValueDeprecation:!0,isHeadersEditorEnabled:!1,showPersistHeadersSettings:!1,children:[(0,h.jsx)(d.Logo,{children:` `}),(0,h.jsx)(d.Toolbar,{children:({prettify:e,copy:t,merge:n})=>(0,h.jsxs)(h.Fragment,{children:[e,n,t,(0,h.jsx)(R,{onSay:e=>a({kind:`ready`,text:e})})]})})]})})]})}re(),addEventListener(`hashchange`,()=>location.hash.length>1&&location.reload()),(0,m.createRoot)(document.getElementById(`page`)).render((0,h.jsx)(Ee,{}));