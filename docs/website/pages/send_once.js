// Sends the form once, even after a double click.

const form = document.querySelector("form");
const release = () => delete form.dataset.sent;
form.addEventListener("submit", (event) => {
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  // The visitor may have stopped the request.
  setTimeout(release, 10_000);
});
// The Back button can restore the page as it was left.
addEventListener("pageshow", release);
