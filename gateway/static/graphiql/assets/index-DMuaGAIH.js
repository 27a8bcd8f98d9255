import{a as e}from"./rolldown-runtime-BWaJ3C7D.js";import{_ as t,a as n,c as r,d as i,i as a,l as o,m as s,n as c,p as l,r as u,t as d,v as f,vr as p,y as m,yr as h}from"./graphiql-BExA3Et0.js";var g=e(p(),1),_=n(),v=h(),y={SESSION:`session token`,ORGANIZATION_KEY:`organization key`,USER_TOKEN:`user token`};function b({viewer:e,onForget:t}){let{subject:n,name:r,email:i,credentialKind:a,organization:o,scopes:s}=e;return(0,v.jsxs)(v.Fragment,{children:[(0,v.jsxs)(`button`,{type:`button`,className:`bar-who`,popoverTarget:`who`,"aria-haspopup":`dialog`,children:[(0,v.jsx)(`b`,{children:r??n}),` · `,s.length,` `,s.length===1?`scope`:`scopes`,(0,v.jsx)(`span`,{"aria-hidden":`true`,children:` ▾`})]}),(0,v.jsxs)(`section`,{id:`who`,className:`who`,popover:`auto`,"aria-label":`Who am I`,children:[(0,v.jsxs)(`dl`,{children:[(0,v.jsx)(`dt`,{children:`Subject`}),(0,v.jsx)(`dd`,{children:(0,v.jsx)(`code`,{children:n})}),i&&(0,v.jsxs)(v.Fragment,{children:[(0,v.jsx)(`dt`,{children:`E-mail`}),(0,v.jsx)(`dd`,{children:i})]}),(0,v.jsx)(`dt`,{children:`Credential`}),(0,v.jsx)(`dd`,{children:y[a]??a}),(0,v.jsx)(`dt`,{children:`Acts in`}),(0,v.jsx)(`dd`,{children:o?o.name:`no organization yet`}),o&&(0,v.jsxs)(v.Fragment,{children:[(0,v.jsx)(`dt`,{children:`X-Service-Org`}),(0,v.jsx)(`dd`,{children:(0,v.jsx)(`code`,{children:o.id})})]})]}),(0,v.jsx)(`h2`,{children:`Scopes`}),(0,v.jsx)(`ul`,{children:[...x(s)].map(([e,t])=>(0,v.jsxs)(`li`,{children:[(0,v.jsx)(`code`,{children:e}),` `,t.join(`, `)]},e))}),(0,v.jsx)(`button`,{type:`button`,onClick:t,children:`Forget the token`})]})]})}function x(e){let t=new Map;for(let n of e){let[e,r]=n.split(`:`);t.set(e,[...t.get(e)??[],r])}return t}function S({credentials:e,answer:t,notice:n,onChange:r}){let{token:i,organization:a}=e;return(0,v.jsxs)(`header`,{className:`bar`,children:[(0,v.jsx)(`a`,{className:`bar-name`,href:`./`,title:`What is here`,children:`CRM gateway`}),(0,v.jsx)(ee,{value:i,onChange:e=>r({token:e,organization:a})}),(0,v.jsx)(te,{viewer:t.viewer,chosen:a,onChange:e=>r({token:i,organization:e})}),(0,v.jsx)(ne,{answer:t,notice:n}),i&&t.viewer&&(0,v.jsx)(b,{viewer:t.viewer,onForget:()=>r({token:``,organization:``})}),(0,v.jsxs)(`nav`,{className:`bar-links`,children:[(0,v.jsx)(`a`,{href:`graphql/schema.graphql`,title:`The schema as text (SDL)`,children:`Schema`}),(0,v.jsx)(`a`,{href:`docs`,title:`The REST paths, in Swagger UI`,children:`REST`})]})]})}function ee({value:e,onChange:t}){let n=(0,g.useId)(),[r,i]=(0,g.useState)(!1);return(0,v.jsxs)(`div`,{className:`bar-field bar-token`,children:[(0,v.jsx)(`label`,{htmlFor:n,children:`Token`}),(0,v.jsx)(`input`,{id:n,type:r?`text`:`password`,value:e,placeholder:`paste a session token, ak_… or pat_…`,onChange:e=>t(e.target.value),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,"data-1p-ignore":!0}),e&&(0,v.jsx)(`button`,{type:`button`,"aria-pressed":r,onClick:()=>i(!r),children:r?`Hide`:`Show`})]})}function te({viewer:e,chosen:t,onChange:n}){let r=(0,g.useId)(),i=e?.organizations??[],a=e?.organization,o=a&&!i.some(e=>e.id===a.id)?[a,...i]:i,s=o.some(e=>e.id===t)?t:a?.id??``,c=e?.credentialKind===`ORGANIZATION_KEY`||o.length<1;return(0,v.jsxs)(`div`,{className:`bar-field`,children:[(0,v.jsx)(`label`,{htmlFor:r,children:`Organization`}),(0,v.jsxs)(`select`,{id:r,value:s,disabled:c,onChange:e=>n(e.target.value),children:[!s&&(0,v.jsx)(`option`,{value:``,children:e?`choose one …`:`—`}),o.map(e=>(0,v.jsx)(`option`,{value:e.id,title:e.id,children:e.name},e.id))]})]})}function ne({answer:e,notice:t}){let[n,r]=t?[`ready`,t]:re(e);return(0,v.jsx)(`p`,{className:`bar-status bar-status-${n}`,role:`status`,children:r})}function re({state:e,viewer:t}){return e===`nobody`?[`waiting`,`Paste a token to run operations`]:e===`refused`?[`refused`,`The service refused this token`]:e===`silent`?[`refused`,`The service does not say who this is`]:t?t.organization?[`ready`,`Kept in this tab only`]:[`waiting`,`Choose an organization`]:[`asking`,`Asking who this is …`]}var C=`crm-gateway:token`,w=`crm-gateway:organization`;function T(){let e=new URLSearchParams(location.hash.slice(1));(e.has(`token`)||e.has(`org`))&&(D({token:e.get(`token`)??``,organization:e.get(`org`)??``}),history.replaceState(history.state,``,location.pathname+location.search))}function E(){return{token:sessionStorage.getItem(C)??``,organization:sessionStorage.getItem(w)??``}}function D({token:e,organization:t}){k(C,A(e)),k(w,A(t))}function O(){let{token:e,organization:t}=E(),n={};return e&&(n.authorization=`Bearer ${e}`),t&&!e.startsWith(`ak_`)&&(n[`x-service-org`]=t),n}function k(e,t){t?sessionStorage.setItem(e,t):sessionStorage.removeItem(e)}function A(e){return e.replace(/^\s*Bearer\s+/i,``).replace(/[^\x21-\x7e]/g,``)}i();var j=location.origin+location.pathname,M=`application/graphql-response+json, application/json;q=0.9`;async function N(e,t,n){let r;try{r=await fetch(j,{method:`POST`,credentials:`omit`,headers:{"content-type":`application/json`,accept:M,...t},body:JSON.stringify(e),signal:n})}catch{return{status:0,answer:P(`The service did not answer: is it still running?`)}}try{return{status:r.status,answer:await r.json()}}catch{return{status:r.status,answer:P(`The answer is not JSON: HTTP ${r.status}`)}}}function P(e){return{errors:[{message:e}]}}function F({query:e,variables:t,operationName:n,organization:r}){let i={query:L(e)};t&&Object.keys(t).length>0&&(i.variables=t),n&&(i.operationName=n);let a=R(e,n),o=[`curl ${a?`--no-buffer`:`--silent --show-error`} ${I(j)}`,`--header 'Content-Type: application/json'`,'--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"'];return r&&o.push(`--header ${I(`X-Service-Org: ${r}`)}`),a&&o.push(`--header 'Accept: text/event-stream'`),o.push(`--data-raw ${I(JSON.stringify(i))}`),`${o.join(` \\
  `)}\n`}function I(e){return`'${e.replaceAll(`'`,`'\\''`)}'`}function L(e){try{return l(e)}catch{return e}}function R(e,n){try{return s(t(e),n)?.operation===`subscription`}catch{return!1}}function z({onSay:e}){let{queryEditor:t,variableEditor:n,operationName:i}=o(f(`queryEditor`,`variableEditor`,`operationName`));async function a(){let r;try{r=m(n?.getValue())}catch{e(`Not copied: the variables are not valid JSON`);return}let a=O()[`x-service-org`];await B(F({query:t?.getValue()??``,variables:r,operationName:i,organization:a})),e(`Copied; the command takes the token from CRM_TOKEN`)}return(0,v.jsx)(r,{label:`Copy as curl (without the token)`,onClick:a,children:(0,v.jsxs)(`svg`,{className:`graphiql-toolbar-icon`,viewBox:`0 0 20 20`,fill:`none`,stroke:`currentColor`,strokeWidth:`1.5`,"aria-hidden":`true`,children:[(0,v.jsx)(`rect`,{x:`1.5`,y:`3`,width:`17`,height:`14`,rx:`3`}),(0,v.jsx)(`path`,{d:`M5 8l3 2.5L5 13M10 13.5h5`,strokeLinecap:`round`,strokeLinejoin:`round`})]})})}async function B(e){if(navigator.clipboard){await navigator.clipboard.writeText(e);return}let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var V=`# The five latest meetings
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
`,H=`# The board: what stands in each stage, and
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
`,U=`# Accounts, and how they are: the score is
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
`,W=`# New leads: who was captured, and how.

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
`,G=`# Outreach: what is written, from which
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
`,K=`# Research of customer experience: a run, its
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
`,ie=`# Competitors, and the deals where they
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

query EventsAndWebhooks {
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
`,Y=`# Who am I, what may I do, and which keys
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
`,ae=`# A deal, made by you. What is wrong with the
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
`,oe=`# The change log as it happens. Leave it running
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
`,se=`{ "first": 3 }
`,ce=`{ "status": "NEW" }
`,le=`{ "words": "review" }
`,ue=`{
  "input": {
    "name": "A deal made in GraphiQL",
    "value": "12500.00",
    "currency": "EUR"
  }
}
`,de=`{ "after": "WyJzZXF1ZW5jZSIsImEiLDFd" }
`,X=Object.assign({"./examples/01-meetings.graphql":V,"./examples/02-deals.graphql":H,"./examples/03-accounts.graphql":U,"./examples/04-leads.graphql":W,"./examples/05-campaigns.graphql":G,"./examples/06-customer-intelligence.graphql":K,"./examples/07-competitors.graphql":ie,"./examples/08-search.graphql":q,"./examples/09-events.graphql":J,"./examples/10-credentials.graphql":Y,"./examples/11-mutation.graphql":ae,"./examples/12-subscription.graphql":oe}),fe=Object.assign({"./examples/03-accounts.json":se,"./examples/04-leads.json":ce,"./examples/08-search.json":le,"./examples/11-mutation.json":ue,"./examples/12-subscription.json":de}),pe=Object.keys(X).sort().map(e=>({query:X[e],variables:fe[e.replace(/graphql$/,`json`)]?.trim()})),me=j.replace(/^http/,`ws`),Z=new Set;function he(e){return{subscribe(t){let n=d({url:me,connectionParams:O,retryAttempts:0}),r=e=>{Z.delete(r)&&(e&&t.next(P(e)),t.complete(),n.dispose())};return Z.add(r),n.subscribe(e,{next:e=>t.next(e),error:e=>r(_e(e)),complete:()=>r()}),{unsubscribe:()=>r()}}}}function ge(){for(let e of[...Z])e(`The stream has ended, because the token or the organization changed.`)}function _e(e){return Array.isArray(e)?e.map(e=>e.message).join(`; `):typeof e?.code==`number`?e.reason?`The service ended the stream: ${e.reason} (${e.code})`:`The connection of the stream was lost (${e.code}).`:`The service took no connection for the stream: is it still running?`}i();function ve(e){return async function(t,{documentAST:n}={}){if(t.operationName===`IntrospectionQuery`)return(await N(t,{})).answer;if(n&&s(n,t.operationName)?.operation===`subscription`)return he(t);let{status:r,answer:i}=await N(t,O());return e(r),i}}var ye=`query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`,Q={state:`nobody`,viewer:null},be=250,$=new Set([`ORGANIZATION_MISMATCH`,`ORGANIZATION_NOT_ACCEPTED`]);function xe({token:e,organization:t},n,r){let[i,a]=(0,g.useState)(Q);return(0,g.useEffect)(()=>{if(!e){a(Q);return}a(e=>({...e,state:`asking`}));let n=new AbortController,i=setTimeout(async()=>{let{status:e,answer:i}=await N({query:ye},O(),n.signal);if(n.signal.aborted)return;let o=i.data?.viewer;o?(a({state:`known`,viewer:o}),!o.organization&&o.organizations.length===1&&r(o.organizations[0].id)):t&&$.has(i.errors?.[0]?.extensions?.code)?r(``):a({state:e===401?`refused`:`silent`,viewer:null})},be);return()=>{clearTimeout(i),n.abort()}},[e,t,n,r]),i}var Se=[a({showAttribution:!1}),u],Ce=6e3,we=401;function Te(){let[e,t]=(0,g.useState)(E),[n,r]=(0,g.useState)(0),[i,a]=(0,g.useState)(``),o=(0,g.useCallback)(e=>{D(e),ge(),t(E())},[]),s=xe(e,n,(0,g.useCallback)(e=>o({...E(),organization:e}),[o])),[l]=(0,g.useState)(()=>ve(e=>e===we&&r(e=>e+1)));return(0,g.useEffect)(()=>{if(!i)return;let e=setTimeout(()=>a(``),Ce);return()=>clearTimeout(e)},[i]),(0,v.jsxs)(v.Fragment,{children:[(0,v.jsx)(S,{credentials:e,answer:s,notice:i,onChange:o}),(0,v.jsx)(`main`,{children:(0,v.jsxs)(c,{fetcher:l,storage:sessionStorage,plugins:Se,defaultTabs:pe,defaultQuery:``,inputValueDeprecation:!0,isHeadersEditorEnabled:!1,showPersistHeadersSettings:!1,children:[(0,v.jsx)(c.Logo,{children:` `}),(0,v.jsx)(c.Toolbar,{children:({prettify:e,copy:t,merge:n})=>(0,v.jsxs)(v.Fragment,{children:[e,n,t,(0,v.jsx)(z,{onSay:a})]})})]})})]})}T(),addEventListener(`hashchange`,()=>location.hash.length>1&&location.reload()),(0,_.createRoot)(document.getElementById(`page`)).render((0,v.jsx)(Te,{}));