// An account from an invitation.

import { call } from "./api.js";
import { byId } from "./elements.js";
import { checkedPassword, Misfit, onSubmit, required } from "./forms.js";
import { showTimes } from "./times.js";

showTimes(document);
const form = byId("join-form");

if (form) {
  onSubmit(form, byId("message"), async (fields) => {
    const name = required(fields, "name", "Type the name you want to be called by");
    const password = checkedPassword(fields.password, fields.again);
    try {
      await call("POST", "/api/join", { token: form.dataset.token, name, password });
    } catch (error) {
      throw error.status === 400 && /name|taken|people/.test(error.message) ? new Misfit("name", plain(error)) : error;
    }
    location.assign("/");
  });
}

const plain = (error) => error.message.replace(/^(people|name): /, "");
