/**
 * Spanish, as customers and sellers in the United States and Mexico write it: data only. This module is browser
 * compatible.
 *
 * @module
 */

import { customer } from "./es/customer.ts";
import { pitches } from "./es/pitches.ts";
import { sellerGrammar } from "./es/seller_grammar.ts";
import { sellerStance } from "./es/seller_stance.ts";
import { sellerWords } from "./es/seller_words.ts";
import type { Locale } from "./locale.ts";

/** The words of Spanish; `locale.ts` says what each list is for. */
export const es: Locale = {
  fieldNames: {
    message: ["comentario", "comentarios", "consulta", "descripcion", "detalles", "mensaje", "pregunta"],
    email: ["correo"],
    phone: ["celular", "movil", "telefono"],
    link: ["archivo", "enlace", "foto", "fotos"],
    company: ["asunto", "compania", "empresa"],
    place: ["calle", "ciudad", "cp", "direccion", "estado", "pais"],
    name: ["apellido", "apellidos", "nombre", "nombres"],
  },
  everyday: ["con", "de", "el", "es", "la", "los", "para", "que", "su", "tu", "una"],
  loneLetters: [],
  shrugs: ["hola", "ninguno", "si"],
  dots: ["punto"],
  placeholder: /\[(nombre|empresa)\]/iu,
  customer,
  seller: {
    words: sellerWords,
    stance: sellerStance,
    grammar: sellerGrammar,
    prices: {
      per: ["al", "la", "por"],
      units: ["dia", "hora", "mensual", "mes", "semana"],
      from: ["desde", "por", "por solo", "solo"],
      articles: ["los"],
      percent: ["de descuento", "menos"],
      millions: ["millon", "millones"],
      free: [],
    },
    urging: { verbs: [], when: [] },
  },
  pitches,
};
