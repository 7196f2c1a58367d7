/**
 * The rules of a letter for mail programs that read any: phones, and dark screens.
 *
 * @module
 */

/** As an element `style` has it. Everything else stands inline. Outlook on the web turns the colours by itself. */
export const letterStyle = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
body{margin:0;padding:0;-webkit-text-size-adjust:100%;text-size-adjust:100%}
a{text-decoration:none}
@media (max-width:599px){
.pad{padding-left:20px!important;padding-right:20px!important}
.edge{padding:0!important}
.card{border-radius:0!important;border-left:0!important;border-right:0!important}
.half{display:block!important;max-width:none!important;margin-right:0!important}
.l,.v{display:block!important;width:auto!important}
.l{padding-bottom:0!important;border-bottom:0!important}
.v{padding-top:2px!important}
}
@media (prefers-color-scheme:dark){
.bg{background-color:#0f1317!important}
.card{background-color:#1a2027!important;border-color:#2c343d!important}
.ink,.v{color:#e9edf2!important}
.dim,.l{color:#a7b1bd!important}
.l,.v{border-color:#2c343d!important}
.quote{background-color:#222a33!important;border-color:#4a90d9!important}
.note{background-color:#3a2f12!important;border-color:#c79a2b!important}
.warn{background-color:#7a1f1f!important}
.link{color:#8ab8ff!important}
}`.trim();
