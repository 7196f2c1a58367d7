import { relay } from "@leads-example/leads-js/relay";

let handle;

/** For Cloudflare Workers and what is like them; its secrets are in `env`. */
export default {
  fetch(request, env, context) {
    handle ??= relay({
      key: env.LEADS_API_KEY,
      baseUrl: env.LEADS_BASE_URL,
      origins: ["https://www.example.com"],
      fields: ["first_name", "last_name", "phone", "email", "project_details"],
      namespace: "www",
      onError: (error) => console.error(error.message),
    });
    return handle(request, context);
  },
};
