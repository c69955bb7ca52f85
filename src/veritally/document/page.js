// Tables sort by the column whose title is pressed: numbers by size, "< 1%" below "1%" and "> 99%" above "99%".
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const title = button.parentElement, table = title.closest("table"), column = title.cellIndex;
    const down = title.getAttribute("aria-sort") !== "descending" && !title.classList.contains("text")
      || title.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const text = row.cells[column].textContent.trim().replaceAll("−", "-").replaceAll(",", "");
      const number = parseFloat(text.replace(/^[<>]\s*/, ""));
      if (title.classList.contains("text") || Number.isNaN(number)) return text;
      return number + (text.startsWith("<") ? -1e-9 : text.startsWith(">") ? 1e-9 : 0);
    };
    const order = (a, b) => a === "" ? 1 : b === "" ? -1
      : (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true})) * (down ? -1 : 1);
    const body = table.tBodies[0];
    body.append(...[...body.rows].map((row) => [key(row), row]).sort((a, b) => order(a[0], b[0])).map(([, row]) => row));
  });
}
// A table that goes on to the right has a shadow there.
for (const box of document.querySelectorAll(".scroll")) {
  const mark = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener("scroll", mark, {passive: true});
  new ResizeObserver(mark).observe(box);
}
// What is folded is unfolded on paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
