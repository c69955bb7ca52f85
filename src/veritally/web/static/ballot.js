// A ranking is also made by moving alternatives up and down: by buttons, by Alt with an arrow key, or by dragging.
// The selects stay, and hold the ranks that are sent.
const form = document.querySelector("form.ballot");
const announced = document.getElementById("announced");
document.getElementById("problem")?.focus();

function seen(item) {
  const field = item.querySelector("[data-seen]");
  return field.tagName === "SELECT" ? Number(field.selectedOptions[0].dataset.count) > 0 : Number(field.value) > 0;
}

if (form.dataset.kind === "ranking") {
  const list = form.querySelector(".alternatives");
  const name = (item) => item.querySelector("legend").textContent;
  const rank = (item) => item.querySelector("[data-rank]");
  const ranked = () => [...list.children].filter((item) => rank(item).value).sort((a, b) => rank(a).value - rank(b).value);

  // Ranks as they are given, without gaps.
  const tiers = () => {
    const found = new Map();
    for (const item of ranked()) found.set(rank(item).value, [...(found.get(rank(item).value) ?? []), item]);
    return [...found.values()];
  };
  const write = (groups, item) => {
    groups.filter((group) => group.length).forEach((group, k) => group.forEach((own) => { rank(own).value = String(k + 1); }));
    list.append(...ranked(), ...[...list.children].filter((own) => !rank(own).value));
    if (item) announced.textContent = `${name(item)}: rank ${rank(item).value} of ${ranked().length}`;
  };
  const move = (item, step, tie) => {
    const groups = tiers();
    const at = groups.findIndex((group) => group.includes(item));
    if (at < 0) {
      if (!seen(item)) { announced.textContent = `${name(item)}: say first how much you have seen`; item.querySelector("[data-seen]").focus(); return; }
      groups.push([item]);
    } else if (tie) {
      if (at === 0) return;
      groups[at] = groups[at].filter((own) => own !== item);
      groups[at - 1].push(item);
    } else {
      const alone = groups[at].length === 1;
      groups[at] = groups[at].filter((own) => own !== item);
      const place = step < 0 ? (alone ? at - 1 : at) : (alone ? at + 2 : at + 1);
      groups.splice(Math.max(0, place), 0, [item]);
    }
    write(groups, item);
  };
  const put = (item, before) => {  // where it was dropped
    const groups = tiers().map((group) => group.filter((own) => own !== item)).filter((group) => group.length);
    const place = before && rank(before).value ? groups.findIndex((group) => group.includes(before)) : groups.length;
    groups.splice(place < 0 ? groups.length : place, 0, [item]);
    write(groups, item);
  };

  for (const item of list.children) {
    const tools = document.createElement("span");
    tools.className = "tools";
    const button = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", `${name(item)}: ${label}`);
      made.addEventListener("click", () => { act(); made.focus(); });
      tools.append(made);
      return made;
    };
    button("↑", "rank higher", () => move(item, -1));
    button("↓", "rank lower", () => move(item, 1));
    button("=", "tie with the one above", () => move(item, 0, true));
    const handle = button("⠿", "drag to its place", () => {});
    handle.className = "handle";
    item.querySelector("fieldset").append(tools);
    item.addEventListener("keydown", (event) => {
      if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        event.preventDefault();
        const focused = document.activeElement;
        move(item, event.key === "ArrowUp" ? -1 : 1);
        focused.focus();
      }
    });
    handle.addEventListener("pointerdown", (event) => {
      if (!seen(item)) return move(item, 0);
      event.preventDefault();
      item.classList.add("dragged");
      const drag = (at) => {
        const others = [...list.children].filter((own) => own !== item);
        const before = others.find((own) => at.clientY < own.getBoundingClientRect().top + own.offsetHeight / 2);
        before ? before.before(item) : list.append(item);
      };
      const drop = () => {
        document.removeEventListener("pointermove", drag);
        document.removeEventListener("pointerup", drop);
        document.removeEventListener("pointercancel", drop);
        item.classList.remove("dragged");
        put(item, item.nextElementSibling);
      };
      document.addEventListener("pointermove", drag);  // the handle moves with its item, and would lose the pointer
      document.addEventListener("pointerup", drop);
      document.addEventListener("pointercancel", drop);
    });
    rank(item).addEventListener("change", () => { announced.textContent = rank(item).value ? `${name(item)}: rank ${rank(item).value}` : `${name(item)}: not ranked`; });
  }
}
