import { send } from "@leads-example/leads-js/page";

const form = document.querySelector("#contact");
const told = form.querySelector("output");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  told.value = "Sending …";
  const { status, fields } = await send("https://edge.example.com/lead", form);
  told.value = {
    accepted: "Thank you: we will call you.",
    duplicate: "Thank you: we have it already.",
    invalid: `Please look at ${Object.keys(fields ?? {}).join(", ")}.`,
    try_later: "That did not work. Please send it again.",
    refused: "That did not work. Please call us.",
  }[status];
});
