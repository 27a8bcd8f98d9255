type Attributes = Record<string, string | boolean | ((event: Event) => void)>;

/** An element with attributes, what it listens to (`onclick`), and children. Texts stay texts: nothing is parsed as HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.toggleAttribute(name, value !== false) && value !== true && made.setAttribute(name, value as string);
  }
  made.append(...children);
  return made;
}

/** The element of the page with this identifier. */
export const byId = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;
