// The page looks now and then whether there is a newer answer, and shows it.
const state = document.getElementById("state");
if (state.dataset.busy === "yes" || state.dataset.live === "yes") {
  let wait = state.dataset.busy === "yes" ? 1000 : 5000;
  const offer = () => {  // who reads the small print is not interrupted
    const button = document.createElement("button");
    button.textContent = "Show it";
    button.addEventListener("click", () => location.reload());
    state.replaceChildren("There is a newer answer. ", button);
  };
  const look = async () => {
    try {
      const found = await (await fetch(state.dataset.state, {cache: "no-store"})).json();
      if (String(found.revision) !== state.dataset.revision) return document.querySelector("details[open]") ? offer() : location.reload();
      if (!found.busy) wait = 5000;
      else if (state.dataset.busy === "yes") wait = Math.min(wait * 1.5, 10000);
      else {
        wait = 1000;
        state.dataset.busy = "yes";
        state.textContent = "Votes came in. The answer is being worked out; below is the last one …";
      }
    } catch { wait = 20000; }
    setTimeout(look, wait);
  };
  setTimeout(look, wait);
}
