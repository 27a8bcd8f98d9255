// Before anything is drawn: the theme that was chosen in this tab, here or in GraphiQL, or else that of the system.
const KEPT_THEME = "graphiql:theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

/** Draw in the theme, under the names that Swagger UI, GraphiQL and our bar have for it; returns whether it is dark. */
function drawTheme() {
  const chosen = sessionStorage.getItem(KEPT_THEME);
  const isDark = chosen ? chosen === "dark" : systemIsDark.matches;
  document.documentElement.classList.toggle("dark-mode", isDark);
  document.body?.classList.toggle("graphiql-dark", isDark);
  document.body?.classList.toggle("graphiql-light", !isDark);
  return isDark;
}

drawTheme();
