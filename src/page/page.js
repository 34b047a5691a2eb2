// The script of the HTML pages: search, filters, keys. The page contains it unchanged, and runs it by its digest alone.
// The page is whole without it; what only works with it is hidden until it runs. No markup is made here but that of a body
// which the page brought along, and that was escaped where it was made.

(() => {
  /**
   * @template {Element} T
   * @param {string} id
   * @param {new () => T} type
   * @returns {T | undefined}
   */
  const byId = (id, type) => {
    const found = document.getElementById(id);
    return found instanceof type ? found : undefined;
  };

  const list = byId("list", HTMLElement);
  const controls = byId("controls", HTMLElement);
  const search = byId("search", HTMLInputElement);
  const draft = byId("draft", HTMLSelectElement);
  const shown = byId("shown", HTMLElement);
  const keys = byId("keys", HTMLDialogElement);
  const theme = byId("theme", HTMLButtonElement);
  const chips = [...document.querySelectorAll("button.chip")].filter(
    (chip) => chip instanceof HTMLButtonElement,
  );

  /** @type {readonly string[] | undefined} Bodies that are put in when their entry is opened. */
  let bodies;
  /** @param {HTMLElement} item */
  const lateBodyOf = (item) => {
    // Read when the first is needed: a long list has many.
    if (bodies === undefined) bodies = JSON.parse(byId("bodies", HTMLScriptElement)?.textContent ?? "[]");
    return bodies?.[Number(item.dataset.body)] ?? "";
  };

  const entries = [...document.querySelectorAll(".item")]
    .filter((element) => element instanceof HTMLElement)
    .map((element) => ({ element, text: "" }));
  const groups = [...document.querySelectorAll(".group")].filter((group) => group instanceof HTMLElement);

  /**
   * The element that opens and closes an entry; of an entry whose body comes late, it is made here.
   * @param {HTMLElement} item
   */
  const detailsOf = (item) => {
    const known = item.querySelector("details");
    if (known !== null || item.dataset.body === undefined) return known;
    const details = document.createElement("details");
    details.append(document.createElement("summary"));
    details.firstElementChild?.append(...item.childNodes);
    item.append(details);
    return details;
  };

  /** @param {HTMLElement} item */
  const fill = (item) => {
    const details = detailsOf(item);
    if (details === null || details.childElementCount > 1) return;
    const body = document.createElement("div");
    body.className = "body";
    // Markup that this page escaped where it was made; in a template nothing of it runs or loads.
    const template = document.createElement("template");
    template.innerHTML = lateBodyOf(item);
    body.append(template.content);
    details.append(body);
  };

  /**
   * @param {HTMLElement} item
   * @param {boolean} open
   */
  const setOpen = (item, open) => {
    const details = detailsOf(item);
    if (details === null || details.open === open) return;
    if (open) fill(item);
    details.open = open;
  };

  /** @type {Record<string, string>} */
  const entities = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

  /** @param {string} markup What the page escaped; a tag never holds a `>` of a value. */
  const textOf = (markup) =>
    markup
      .replace(/<[^>]*>/g, " ")
      .replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity);

  /** @param {string} text */
  const normal = (text) => text.toLowerCase().replace(/\s+/g, " ");

  /** Made at the first search: most readers of a long list never search. */
  const readTexts = () => {
    for (const entry of entries) {
      if (entry.text !== "") continue;
      const { element } = entry;
      const body = element.dataset.body === undefined ? "" : textOf(lateBodyOf(element));
      const address = element.querySelector("code")?.getAttribute("title") ?? "";
      entry.text = normal(`${element.dataset.draft} ${address} ${element.textContent} ${body}`);
    }
  };

  const readState = () => {
    const query = new URLSearchParams(location.hash.slice(1));
    const pressed = (query.get("show") ?? "").split(",");
    for (const chip of chips) chip.ariaPressed = String(pressed.includes(chip.dataset.facet ?? ""));
    if (search !== undefined) search.value = query.get("q") ?? "";
    if (draft !== undefined) draft.value = query.get("draft") ?? "";
    if (draft !== undefined && draft.selectedIndex < 0) draft.value = "";
  };

  const pressedFacets = () =>
    chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.facet ?? "");

  const writeState = () => {
    const query = new URLSearchParams();
    const facets = pressedFacets();
    if (facets.length > 0) query.set("show", facets.join(","));
    if (draft?.value) query.set("draft", draft.value);
    if (search?.value) query.set("q", search.value);
    const hash = query.toString();
    history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  };

  /** @param {number} count Of the entries that are shown. */
  const announce = (count) => {
    if (shown === undefined) return;
    const all = `${entries.length.toLocaleString("en")} ${list?.dataset.noun}${entries.length === 1 ? "" : "s"}`;
    shown.textContent = count === entries.length ? all : `${count.toLocaleString("en")} of ${all}`;
  };

  /** @returns {(entry: { element: HTMLElement, text: string }) => boolean} */
  const makeCondition = () => {
    const facets = new Set(pressedFacets());
    const wanted = normal(search?.value ?? "").trim();
    const own = draft?.value ?? "";
    if (wanted !== "") readTexts();
    return ({ element: { dataset }, text }) =>
      (facets.size === 0 || facets.has(dataset.facet ?? "")) &&
      (own === "" || own === dataset.draft) &&
      text.includes(wanted);
  };

  const filter = () => {
    const fits = makeCondition();
    let count = 0;
    for (const entry of entries) {
      const isShown = fits(entry);
      if (entry.element.hidden === isShown) entry.element.hidden = !isShown;
      if (isShown) count += 1;
    }
    for (const group of groups) {
      const isEmpty = group.querySelector(".item:not([hidden])") === null;
      if (group.hidden !== isEmpty) group.hidden = isEmpty;
    }
    announce(count);
  };

  const update = () => {
    filter();
    writeState();
  };

  const clear = () => {
    for (const chip of chips) chip.ariaPressed = "false";
    if (search !== undefined) search.value = "";
    if (draft !== undefined) draft.value = "";
    update();
  };

  /** @param {boolean} open Of the entries that are shown. */
  const openAll = (open) => {
    for (const { element } of entries) if (!element.hidden) setOpen(element, open);
  };

  /** @param {1 | -1} by */
  const move = (by) => {
    const visible = entries.map(({ element }) => element).filter(({ hidden }) => !hidden);
    const at = visible.findIndex((element) => element.contains(document.activeElement));
    const next = at < 0 ? (by === 1 ? visible[0] : visible.at(-1)) : visible[at + by];
    if (next === undefined) return;
    const summary = detailsOf(next)?.firstElementChild;
    const handle = summary instanceof HTMLElement ? summary : next;
    if (handle === next) next.tabIndex = -1;
    handle.focus();
    next.scrollIntoView({ block: "nearest" });
  };

  const toggleFocused = () => {
    const focused = document.activeElement?.closest(".item");
    if (focused instanceof HTMLElement) setOpen(focused, focused.querySelector("details")?.open === false);
  };

  /** @type {Record<string, () => void>} */
  const actions = {
    "/": () => search?.focus(),
    j: () => move(1),
    k: () => move(-1),
    o: toggleFocused,
    "?": () => keys?.showModal(),
    Escape: () => {
      clear();
      if (document.activeElement === search) search?.blur();
    },
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || keys?.open) return;
    const types = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    const action = types && key !== "Escape" ? undefined : actions[key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  document.addEventListener(
    "toggle",
    ({ target }) => {
      const item = target instanceof HTMLDetailsElement && target.open ? target.parentElement : null;
      if (item?.matches(".item")) fill(item);
    },
    true,
  );
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = String(chip.ariaPressed !== "true");
      update();
    });
  }
  search?.addEventListener("input", update);
  draft?.addEventListener("change", update);
  byId("clear", HTMLButtonElement)?.addEventListener("click", clear);
  byId("open-all", HTMLButtonElement)?.addEventListener("click", () => openAll(true));
  byId("close-all", HTMLButtonElement)?.addEventListener("click", () => openAll(false));
  byId("help", HTMLButtonElement)?.addEventListener("click", () => keys?.showModal());

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const showTheme = () => {
    const isDark = (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
    if (theme !== undefined) theme.ariaPressed = String(isDark);
    return isDark;
  };
  theme?.addEventListener("click", () => {
    document.documentElement.dataset.theme = showTheme() ? "light" : "dark";
    showTheme();
  });
  dark.addEventListener("change", showTheme);

  // A table is sorted by the column whose button is pressed; pressed again, the other way round.
  for (const button of document.querySelectorAll("th button")) {
    const head = button.closest("th");
    const body = head?.closest("table")?.tBodies[0];
    if (head === null || body === undefined) continue;
    button.addEventListener("click", () => {
      const isDown = head.ariaSort === "ascending";
      for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
      head.ariaSort = isDown ? "descending" : "ascending";
      /** @param {HTMLTableRowElement} row */
      const keyOf = (row) => row.cells[head.cellIndex]?.dataset.sort ?? "";
      const rows = [...body.rows].sort((a, b) => keyOf(a).localeCompare(keyOf(b), "en", { numeric: true }));
      body.append(...(isDown ? rows.reverse() : rows));
    });
  }

  // What was open before printing is open after it.
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener("beforeprint", () => {
    for (const { element } of entries) fill(element);
    opened = [...document.querySelectorAll("details:not([open])")].filter(
      (one) => one instanceof HTMLDetailsElement,
    );
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  // Entries become what can be opened when their group comes near the screen: to make 20,000 at once takes seconds.
  const nearness = new IntersectionObserver(
    (groupsSeen) => {
      for (const { isIntersecting, target } of groupsSeen) {
        if (!isIntersecting) continue;
        nearness.unobserve(target);
        for (const item of target.querySelectorAll(".item")) if (item instanceof HTMLElement) detailsOf(item);
      }
    },
    { rootMargin: "1000px" },
  );
  for (const group of groups) nearness.observe(group);

  addEventListener("hashchange", () => {
    readState();
    filter();
  });
  if (controls !== undefined) controls.hidden = false;
  for (const tools of document.querySelectorAll(".tools")) tools.removeAttribute("hidden");
  showTheme();
  readState();
  if (location.hash.length > 1) filter();
})();
