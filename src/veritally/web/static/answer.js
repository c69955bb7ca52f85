// The page looks now and then whether there is a newer answer, and shows it.
const state = document.getElementById("state");
if (state.dataset.busy === "yes" || state.dataset.live === "yes") {
  let wait = state.dataset.busy === "yes" ? 1000 : 5000;
  const look = async () => {
    try {
      const found = await (await fetch(state.dataset.state, {cache: "no-store"})).json();
      if (String(found.revision) !== state.dataset.revision && !document.querySelector("details[open]")) return location.reload();
      wait = found.busy ? Math.min(wait * 1.5, 10000) : 5000;
    } catch { wait = 20000; }
    setTimeout(look, wait);
  };
  setTimeout(look, wait);
}
