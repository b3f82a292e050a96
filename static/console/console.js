/* Speed for what works without it: keys, copy buttons, the chosen row, polling that stays quiet. */
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const wide = matchMedia("(min-width: 1280px)");
  const say = (words) => { $("#said").textContent = words; };

  /* The clock in the top bar goes on from the server's moment, not from this machine's. */
  const clock = $("#clock");
  if (clock) {
    const behind = Date.now() - Date.parse(clock.dateTime);
    const show = (zone, seconds) => new Intl.DateTimeFormat("en-GB", {
      timeZone: zone, hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }),
    });
    const here = show(clock.dataset.zone, true), there = show("UTC", false), utc = $("#utc");
    const tick = () => {
      const now = new Date(Date.now() - behind);
      clock.textContent = here.format(now);
      clock.dateTime = now.toISOString();
      if (utc) utc.textContent = there.format(now);
    };
    setInterval(tick, 1000);
  }

  /* Copy buttons carry the whole text, whatever the page shows of it. */
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
      if (!button) return;
      button.classList.add("done");
      setTimeout(() => button.classList.remove("done"), 2000);
    } catch { say("Could not copy. Select the text instead."); }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button.dataset.copy, button);
    const menu = $("details.menu[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
    if (event.target.closest("[data-shortcuts]")) $("#shortcuts").showModal();
  });
  $$("[data-copy], [data-shortcuts]").forEach((button) => { button.hidden = false; });
  document.addEventListener("htmx:afterSwap", () => {
    $$("[data-copy]").forEach((button) => { button.hidden = false; });
  });

  /* Old notes in an address would show again on every reload and in every copied link. */
  const here = new URL(location.href);
  if (here.searchParams.has("recorded")) {
    here.searchParams.delete("recorded");
    history.replaceState(history.state, "", here);
  }

  /* The queue: one chosen row; the preview follows it on wide screens. */
  const rows = () => $$("tr[data-case]");
  const chosen = () => $("tr[data-case].cur");
  let waiting = 0;
  const choose = (row, { focus = true } = {}) => {
    if (!row) return;
    const old = chosen();
    if (old) { old.classList.remove("cur"); old.removeAttribute("aria-current"); }
    row.classList.add("cur");
    row.setAttribute("aria-current", "true");
    if (focus) {
      $("a", row).focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }
    if (!wide.matches || !window.htmx) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => htmx.ajax("GET", row.dataset.peek, { target: "#peek" }), 90);
  };
  const step = (by) => {
    const all = rows();
    const at = all.indexOf(chosen());
    choose(all[Math.min(all.length - 1, Math.max(0, at + by))]);
  };
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr[data-case]");
    if (row && row !== chosen()) choose(row, { focus: false });
  });
  document.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-case]");
    if (row && !event.target.closest("a, button") && !getSelection().toString()) choose(row);
  });

  /* Polling stops while nobody looks, and says when it stops working. */
  let failures = 0;
  $$("#live").forEach((mark) => { mark.hidden = false; });
  const live = (words, dead) => {
    const mark = $("#live");
    if (!mark) return;
    if (mark.textContent !== words) mark.textContent = words;
    mark.classList.toggle("dead", dead);
  };
  /* A whole page in place of a part means that the session ended: read the page itself again. */
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!/^\s*<!doctype/i.test(event.detail.serverResponse)) return;
    event.detail.shouldSwap = false;
    if (event.detail.xhr.status < 400) location.reload();
  });
  const unread = (event) => {
    const part = event.detail.target;
    if (part?.id === "peek") part.textContent = "Could not be read. Choose the row again.";
    say("Could not be read.");
  };
  document.addEventListener("htmx:responseError", unread);
  document.addEventListener("htmx:sendError", unread);
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.closest("[data-poll]")) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.target.closest("[data-poll=queue]")) return;
    failures = event.detail.successful ? 0 : failures + 1;
    if (!failures) live("Live", false);
    if (failures === 2) live(`Not live, last read ${$("#live").dataset.read}`, true);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const note = $("[data-say]", event.target.parentElement ?? document);
    if (note && note.dataset.say) say(note.dataset.say);
    /* A finished lookup shows its evidence at once, unless somebody has begun to write. */
    const done = $("#looking [data-done]");
    if (done && !document.body.dataset.typed) location.assign(done.dataset.done);
  });
  document.addEventListener("input", (event) => {
    if (event.target.closest("form.decide")) document.body.dataset.typed = "yes";
  });
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button?.getAttribute("aria-disabled") === "true") event.preventDefault();
  });

  /* Single keys; none of them records a decision. */
  let leader = 0;
  const go = (selector) => { const link = $(selector); if (link) link.click(); return !!link; };
  const focus = (selector) => {
    const part = $(selector);
    if (!part) return false;
    part.focus();
    part.scrollIntoView({ block: "start" });
    return true;
  };
  const queue = {
    j: () => step(1), k: () => step(-1), r: () => location.reload(), f: () => go("#filter>summary"),
    l: () => go("#peek [data-key=l]") || go("tr.cur [data-key=l]"),
  };
  const casefile = {
    j: () => go("[data-key=j]"), k: () => go("[data-key=k]"), l: () => go("[data-key=l]"),
    e: () => go("[data-key=e]"), d: () => focus("#decide"), v: () => focus("#evidence"),
    y: () => copy($("link[rel=canonical]").href),
  };
  const places = { q: "i-queue", h: "i-hist", p: "i-plug" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return leave();
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (leader && Date.now() - leader < 1500 && places[event.key]) {
      $(`.nav use[href="#${places[event.key]}"]`)?.closest("a").click();
      return event.preventDefault();
    }
    leader = event.key === "g" ? Date.now() : 0;
    const page = { queue, case: casefile }[$(".app")?.dataset.keys] ?? {};
    const act = {
      "/": () => $("#find")?.focus(), "?": () => $("#shortcuts").showModal(), ...page,
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const leave = () => {
    const menu = $("details[open].menu, details[open]#filter");
    if (menu) { menu.open = false; $("summary", menu).focus(); return; }
    if (document.activeElement?.matches("input, textarea, select")) document.activeElement.blur();
  };

  /* On a wide screen the first row is chosen at once, so that the preview is never empty. */
  if (wide.matches && !chosen() && rows().length) choose(rows()[0], { focus: false });
})();
