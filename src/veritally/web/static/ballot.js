// A ranking is also made by moving alternatives up and down: by buttons, by Alt with an arrow key, or by dragging.
// The selects stay, and hold the ranks that are sent.
const form = document.querySelector("form.ballot");

if (form.dataset.kind === "ranking") {
  const list = form.querySelector(".alternatives");
  const name = (item) => item.querySelector("legend").textContent;
  const rank = (item) => item.querySelector("[data-rank]");
  const place = (item) => (/^\s*\d+\s*$/.test(rank(item).value) ? Number(rank(item).value) : 0);  // 0 for none
  const ranked = () => [...list.children].filter(place).sort((a, b) => place(a) - place(b));

  // Whether the voter has seen it; if not, that must be said first.
  const seen = (item) => {
    const field = item.querySelector("[data-seen]");
    return Number(field.tagName === "SELECT" ? field.selectedOptions[0].dataset.count : field.value.replace(",", ".")) > 0;
  };
  const ask = (item) => {
    announce(`${name(item)}: say first how much of it you have seen`);
    item.querySelector("[data-seen]").focus();
  };

  // Groups of equal rank, the best first; written back as ranks without gaps.
  const tiers = () => {
    const found = new Map();
    for (const item of ranked()) found.set(place(item), [...(found.get(place(item)) ?? []), item]);
    return [...found.values()];
  };
  const arrange = () => {  // only what stands elsewhere is moved, since that takes long where there are many
    let next = list.firstElementChild;
    for (const item of [...ranked(), ...[...list.children].filter((each) => !place(each))]) {
      if (item === next) next = next.nextElementSibling;
      else list.insertBefore(item, next);
    }
  };
  const write = (groups, item) => {
    groups.filter((group) => group.length).forEach((group, k) => group.forEach((each) => { rank(each).value = String(k + 1); }));
    arrange();
    announce(`${name(item)}: rank ${rank(item).value} of ${ranked().length}`);
  };
  // Nothing is moved while a rank that was typed is no number: it would become one that nobody meant.
  const mistaken = () => {
    const wrong = [...list.children].find((each) => rank(each).value.trim() && !place(each));
    if (wrong) {
      announce(`${name(wrong)}: the rank must be a whole number, from 1 on`);
      rank(wrong).focus();
    }
    return wrong;
  };
  const move = (item, step) => {
    if (mistaken()) return;
    if (!seen(item)) return ask(item);
    const focused = document.activeElement;
    const groups = tiers();
    const at = groups.findIndex((group) => group.includes(item));
    if (at < 0) groups.push([item]);
    else {
      const alone = groups[at].length === 1;
      groups[at] = groups[at].filter((each) => each !== item);
      const to = step < 0 ? (alone ? at - 1 : at) : (alone ? at + 2 : at + 1);
      groups.splice(Math.max(0, to), 0, [item]);
    }
    write(groups, item);
    focused.focus();  // it was moved, and lost the focus
  };
  const put = (item, before) => {
    if (mistaken()) return;
    const groups = tiers().map((group) => group.filter((each) => each !== item)).filter((group) => group.length);
    const at = before && place(before) ? groups.findIndex((group) => group.includes(before)) : groups.length;
    groups.splice(at, 0, [item]);
    write(groups, item);
  };

  // The item follows the pointer, and a line shows where it would go. Near an edge the page scrolls.
  const drag = (item, handle, start) => {
    const from = start.clientY + scrollY;
    let y = start.clientY;
    const below = () => [...list.children].find((each) => each !== item && y < each.getBoundingClientRect().top + each.offsetHeight / 2);
    const show = () => {
      item.style.translate = `0 ${y + scrollY - from}px`;
      const next = below();
      for (const each of list.children) each.classList.toggle("next", each === next);
      list.classList.toggle("last", !next);
    };
    const follow = (event) => { y = event.clientY; show(); };
    const scroll = setInterval(() => {
      const step = y < 60 ? -12 : y > innerHeight - 60 ? 12 : 0;
      if (step) { scrollBy(0, step); show(); }
    }, 16);
    const end = (event) => {
      const next = below();
      clearInterval(scroll);
      handle.removeEventListener("pointermove", follow);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
      item.classList.remove("dragged");
      list.classList.remove("last");
      next?.classList.remove("next");
      item.style.translate = "";
      if (event.type === "pointerup") put(item, next);
    };
    item.classList.add("dragged");
    handle.setPointerCapture(start.pointerId);
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
  };

  const sent = [...list.children];
  arrange();  // a ballot that is to be changed
  // A browser that goes back fills in only a form whose fields stand as the server sent them.
  addEventListener("beforeunload", () => list.append(...sent));
  addEventListener("pageshow", arrange);
  for (const item of list.children) {
    const tools = document.createElement("span");
    tools.className = "tools";
    for (const [sign, label, step] of [["↑", "rank higher", -1], ["↓", "rank lower", 1]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sign;
      button.setAttribute("aria-label", `${name(item)}: ${label}`);
      button.addEventListener("click", () => { button.focus(); move(item, step); });
      tools.append(button);
    }
    const handle = document.createElement("span");  // for a pointer alone: the buttons do the same
    handle.className = "handle";
    handle.textContent = "⠿";
    handle.setAttribute("aria-hidden", "true");
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      if (seen(item)) drag(item, handle, event);
      else ask(item);
    });
    item.querySelector("fieldset").append(tools, handle);
    item.addEventListener("keydown", (event) => {
      if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
      event.preventDefault();
      move(item, event.key === "ArrowUp" ? -1 : 1);
    });
    rank(item).addEventListener("change", () => {
      if (mistaken()) return;
      if (!place(item)) announce(`${name(item)}: not ranked`);
      else if (seen(item)) announce(`${name(item)}: rank ${rank(item).value}`);
      else ask(item);
    });
  }
}
