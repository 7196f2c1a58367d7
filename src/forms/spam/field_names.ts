/**
 * What the fields of forms are called, in English, Spanish and French, folded: data only. This module is browser compatible.
 *
 * @module
 */

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Words of a field's name by what it holds. The first that has one decides. */
export const fieldWords = {
  message: set(
    "about body comment comments description detail details enquiry help inquiry message messages msg note notes question questions " +
      "comentario comentarios consulta descripcion detalles mensaje pregunta commentaire commentaires precisions projet demande",
  ),
  email: set("email emailaddress mail correo courriel"),
  phone: set("cell cellphone fax mobile phone phonenumber tel telephone celular movil telefono portable"),
  link: set(
    "attachment attachments file files homepage image images link links listing photo photos picture pictures site upload uploads url " +
      "urls web archivo enlace foto fotos fichier lien",
  ),
  company: set(
    "business company employer organisation organization project service subject title asunto compania empresa entreprise sujet objet",
  ),
  place: set(
    "address apt city country county postal postcode state street suite unit zip zipcode calle ciudad cp direccion estado pais adresse " +
      "ville pays rue",
  ),
  name: set(
    "contact customer firstname fname fullname lastname lname name names surname yourname apellido apellidos nombre nombres nom prenom",
  ),
} as const;

/** What a site sends along and nobody types, `website` (the honeypot, judged elsewhere) among them. */
export const technicalFields: ReadonlySet<string> = set(
  "cf_turnstile_response csrf csrf_token fbclid form_id form_key form_name form_started_at form_loaded_at g_recaptcha_response gbraid " +
    "gclid h_captcha_response ip ip_address landing_page lang language locale msclkid nonce page_title page_url referer referrer " +
    "request_id session session_id source_url timezone token user_agent visitor_id wbraid website",
);
