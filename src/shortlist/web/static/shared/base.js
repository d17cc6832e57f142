// What every page does: the menu on narrow screens, and signing out.

import { call } from "./api.js";

document.documentElement.classList.add("js");

const menuButton = document.querySelector(".menu-button");
menuButton?.addEventListener("click", () => open(menuButton.getAttribute("aria-expanded") !== "true"));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || menuButton?.getAttribute("aria-expanded") !== "true") return;
  open(false);
  menuButton.focus();
});

function open(shown) {
  menuButton.setAttribute("aria-expanded", String(shown));
  document.getElementById("menu").classList.toggle("open", shown);
}

const form = document.querySelector("form.sign-out");
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  signOut();
});

async function signOut() {
  // A page with something unsaved (answers on their way) may object, and go on with it later
  if (!window.dispatchEvent(new CustomEvent("sign-out", { cancelable: true, detail: signOut }))) return;
  try {
    await call("POST", form.getAttribute("action"));
  } catch (error) {
    if (error.status === 0) {
      form.querySelector("[role=alert]").textContent = "The server does not answer: you are still signed in.";
      return;
    }
  }
  location.assign("/");
}
