// What any page does better with a script: it goes to a mistake, tells the reader's own time, and copies.
const announced = document.getElementById("announced");
const announce = (text) => { announced.textContent = text; };
(document.getElementById("problem") ?? document.getElementById("voted"))?.focus();

const own = new Intl.DateTimeFormat([], {dateStyle: "medium", timeStyle: "short"});
for (const time of document.querySelectorAll("time")) {
  const when = new Date(time.dateTime);
  if (when.getTimezoneOffset()) time.after(` (your time: ${own.format(when)})`);
}

// The deadline is written in the organiser's own time, and sent in UTC.
const deadline = document.getElementById("deadline");
if (deadline) {
  const inUtc = (local) => (local ? new Date(local).toISOString().slice(0, 16) : "");
  const sent = document.createElement("input");
  const said = document.createElement("small");
  sent.type = "hidden";
  sent.name = deadline.name;
  deadline.removeAttribute("name");
  deadline.after(sent, said);
  document.getElementById("zone").textContent = "your time";
  if (deadline.value && deadline.value === deadline.defaultValue) {  // it came from the server
    const when = new Date(`${deadline.value}Z`);
    when.setMinutes(when.getMinutes() - when.getTimezoneOffset());
    deadline.value = when.toISOString().slice(0, 16);
  }
  const write = () => {
    sent.value = inUtc(deadline.value);
    said.textContent = sent.value ? ` That is ${sent.value.replace("T", " ")} UTC.` : "";
  };
  deadline.addEventListener("input", write);
  addEventListener("pageshow", write);  // also if the browser went back and filled the field in again
  write();
}

if (navigator.clipboard) {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        announce("Copied.");
      } catch { announce("The browser does not let this page copy."); }
    });
  }
}
