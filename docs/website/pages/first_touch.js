// Include this script on every page. It keeps the visitor's first page and the site that led there until the tab is
// closed, without a cookie, and fills the hidden inputs page_url, landing_page and referrer of a form.

const address = location.href.split("#")[0];
const isFromElsewhere = document.referrer !== "" && new URL(document.referrer).origin !== location.origin;
const first = { landing_page: address, referrer: isFromElsewhere ? document.referrer : "" };
try {
  Object.assign(first, JSON.parse(sessionStorage.getItem("first_touch")));
  sessionStorage.setItem("first_touch", JSON.stringify(first));
} catch {
  // The browser forbids storage: this page counts as the first.
}

const page = new URL(address);
const campaignOf = ({ searchParams }) =>
  [...searchParams].filter(([name]) => /^(gclid|utm_\w+)$/i.test(name));
if (campaignOf(page).length === 0) {
  for (const [name, value] of campaignOf(new URL(first.landing_page))) page.searchParams.append(name, value);
}
for (const [name, value] of Object.entries({ page_url: page.href, ...first })) {
  // After an error, the server returns the values of the first try.
  for (const input of document.querySelectorAll(`input[type=hidden][name=${name}]`)) input.value ||= value;
}
