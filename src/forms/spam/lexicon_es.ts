/**
 * The Spanish half of the vocabulary of pitches, with the commonest words of Russian ones: data only,
 * written as in `spam_lexicon.ts`. This module is browser compatible.
 *
 * @module
 */

import type { Topic } from "./lexicon.ts";

/** The topics of the English list, in Spanish. */
export const spanishTopics: readonly Topic[] = [
  {
    reason: "pitch_search_ranking",
    strong: `
      posicionamiento web, posicionamiento seo, posicionamiento en google, posicionamiento organico,
      posicionar su, posicionar tu, posicionamos, servicios seo, servicio de seo, experto* en seo,
      especialista* en seo, agencia seo, primera pagina de google, primeros lugares de google, primeros
      resultados, primeras posiciones, trafico web, trafico organico, trafico a su, mas visitas, mas trafico,
      enlaces de calidad, motores de busqueda, auditoria gratuita, auditoria seo, palabras clave, продвижение,
      раскрутка
    `,
    fair: "posicionamiento, buscadores, visitas, busquedas, aparecer en google, visibilidad",
    weak: "trafico, google, sitio",
  },
  {
    reason: "pitch_web_design",
    strong: `
      diseno web, diseno de paginas, paginas web, diseno grafico, diseno de logotipo*, diseno de logo*,
      desarrollo web, desarrollo de aplicaciones, aplicaciones moviles, aplicacion movil, tienda en linea,
      tienda online, redisenar su, redisenar tu, rediseno, pagina web profesional, video animado, videos
      animados, programador*, hosting y dominio, chatbot con, inteligencia artificial, создание сайтов
    `,
    fair: "nueva pagina web, desarrollador*, disenador*, sitio web, sitios web, dominio",
    weak: "pagina, logotipo, aplicacion, video",
  },
  {
    reason: "pitch_publishing",
    strong: `
      articulo* patrocinado*, contenido patrocinado, post patrocinado, articulo de invitado, publicar un
      articulo, publicar articulos, publicar en su, intercambio de enlaces, enlace dofollow, colaboracion en
      su blog, articulos en su
    `,
    fair: "su blog, tu blog, articulo, enlace*, colaboracion, lectores",
    weak: "publicar, contenido",
  },
  {
    reason: "pitch_marketing",
    strong: `
      anunciese, anunciate, revista local, videos para redes, mas llamadas, leads exclusivos, contratistas que
      quieren, agenda llena, llenar su agenda, volantes, tarjetas de presentacion, guia comercial, programa de
      radio, paquete* publicitario*, marketing digital, agencia de marketing, agencia de publicidad,
      mercadotecnia, redes sociales para, manejo de redes, manejamos redes, gestion de redes, campanas de
      publicidad, campanas publicitarias, publicidad en facebook, publicidad en google, anuncios en, email
      marketing, correo masivo, correos masivos, envio masivo, base de datos de, bases de datos, generar mas
      clientes, generacion de clientes, generacion de leads, clientes potenciales, prospectos calificados, mas
      clientes, nuevos clientes, atraer clientes, conseguir clientes, aumentar sus ventas, aumentar tus
      ventas, aumente sus ventas, aumenta tus ventas, incrementar sus ventas, incrementar tus ventas, hacer
      crecer su, hacer crecer tu, haga crecer su, crecer su negocio, crecer tu negocio, impulsar su, impulsar
      tu, impulse su, impulsa tu, seguidores reales, comprar seguidores, mil seguidores, resenas de cinco,
      resenas positivas, рассылка, реклама
    `,
    fair: `
      redes sociales, publicidad, seguidores, ventas, campana*, anuncios, prospectos, promocionar, mercadeo,
      su marca, tu marca, leads
    `,
    weak: "clientes, negocio, marca, resenas",
  },
  {
    reason: "pitch_business",
    strong: `
      franquicia*, contador publico, declaracion de impuestos, servicios de contabilidad, importacion,
      contenedor*, uniformes, rotulacion de, camaras de seguridad para, planes de salud, seguro medico,
      seguros de vida, maquinaria, materiales a precio, fabricacion de, distribuidores en, punto de venta,
      tramitamos, tramite de visas, somos fabricantes, fabricante* de, nuestra fabrica, venta al por mayor, al
      mayoreo, precios de mayoreo, precios mayoristas, nuestros productos, catalogo de, lista de precios,
      asistente* virtual*, centro de llamadas, facturacion electronica, software de, nuestro software,
      terminal de pago, procesamiento de pagos, registro de marca, seguro para su negocio, seguros para
      contratistas, directorio de empresas, directorio comercial, oportunidad de negocio, alianza comercial,
      demostracion gratuita, prueba gratuita, servicios de limpieza para, reclutamiento de personal, servicios
      contables, curso* de, diplomado
    `,
    fair: `
      proveedor*, proveedores, mayoreo, fabrica, distribuidor*, catalogo, demostracion, capacitacion,
      exportacion, plataforma
    `,
    weak: "productos, precios, software, muestras",
  },
  {
    reason: "pitch_finance",
    strong: `
      prestamo* personal*, prestamos rapidos, prestamo rapido, prestamos para negocios, prestamo para su
      negocio, prestamos sin, prestamo sin, ofrecemos prestamos, ofrezco prestamos, oferta de prestamo,
      prestamista*, prestamos entre particulares, prestamo entre particulares, credito inmediato, creditos
      inmediatos, credito para su negocio, creditos para, capital de trabajo, financiamiento para su negocio,
      financiamiento inmediato, sin aval, sin buro, sin verificacion de credito, reparacion de credito, repare
      su credito, limpiar su credito, tasa de interes, tasas de interes, solicite su prestamo, necesita un
      prestamo urgente, кредит, займ
    `,
    fair: "prestamos, aprobacion, buro de credito, interes del, historial crediticio, deudas",
    weak: "prestamo, credito, financiamiento, capital, interes, dinero",
  },
  {
    reason: "pitch_easy_money",
    strong: `
      criptomoneda*, bitcoin, ingresos pasivos, ingreso extra, ingresos extra, ganar dinero, gana dinero, gane
      dinero, ganando dinero, gana hasta, gane hasta, dinero facil, dinero desde casa, desde la comodidad de,
      trabaja desde casa, trabajar desde casa, trabajo desde casa, libertad financiera, inversion garantizada,
      inversiones con, invierte con, invierta con, rentabilidad, ganancias diarias, ganancias garantizadas,
      duplica tu, duplicar su dinero, negocio multinivel, plataforma de trading, senales de trading, se tu
      propio jefe, sea su propio jefe, dolares al dia, dolares diarios, dolares por semana, dolares semanales,
      заработок, биткоин
    `,
    fair: "inversion, invertir, ganancias, ingresos, trading, inversionista*, multinivel",
    weak: "dinero, trabajo, dolares, ganar",
  },
  {
    reason: "pitch_gambling",
    strong: `
      casino en linea, casinos en linea, casino online, casinos online, apuestas deportivas, apuestas en
      linea, casa de apuestas, casas de apuestas, tragamonedas, giros gratis, bono de bienvenida, tiradas
      gratis, ruleta, казино, ставки, вулкан
    `,
    fair: "apuestas, apuesta, casino, bono",
    weak: "premios, jugar, juega",
  },
  {
    reason: "pitch_health",
    strong: `
      farmacia en linea, farmacia online, sin receta, bajar de peso, baja de peso, perder peso, pierde peso,
      pierda peso, adelgaz*, quema grasa, quemador de grasa, pastillas para, disfuncion erectil, potencia
      sexual, suplemento* natural*, suplemento* alimenticio*, colageno, producto milagroso, remedio natural,
      виагра
    `,
    fair: "pastillas, suplemento*, medicamento*, farmacia, diabetes, dieta",
    weak: "salud, natural, kilos, libras",
  },
  {
    reason: "pitch_goods",
    strong: `
      replicas, relojes de lujo, envio gratis, envio a todo, hasta 50 de descuento, hasta 70 de descuento,
      tienda oficial, zapatos baratos, ropa de marca, pacas de ropa, perfumes, comprar licencia, licencia de
      conducir sin, documentos falsos, peliculas gratis, descargar gratis, cupon de descuento, ofertas
      exclusivas, paquetes de viaje, viajes a cancun, servicio de iptv
    `,
    fair: "oferta, ofertas, descuento, descuentos, cupon, cupones, bolsas, relojes, joyeria, promocion",
    weak: "compra, tienda, envio, barato, baratos",
  },
  {
    reason: "pitch_adult",
    strong: `
      ищу мужчину, для знакомств*, porno, chicas calientes, chicas solteras, mujeres solteras, mujeres
      calientes, sexo, escorts, prepago, citas en linea, sitio de citas, conocer mujeres, conocer chicas,
      fotos desnuda, fotos intimas, contenido para adultos, sugar daddy, знакомства, порно
    `,
    fair: "chicas, solteras, citas, sola esta noche, webcam, caliente*",
    weak: "mujeres, fotos, noche",
  },
  {
    reason: "pitch_scam",
    strong: `
      paquete retenido, no pudo ser entregado, cuenta bloqueada, acceso no autorizado, ultima oportunidad,
      inversionista extranjero, millones de usd, oro en, donar mi, video intimo, sus contactos, herencia de,
      fondos de herencia, millones de dolares, millones de euros, pariente mas cercano, cliente fallecido, ha
      sido seleccionado, has sido seleccionado, ha ganado, has ganado, usted gano, reclame su premio, reclamar
      su premio, reclama tu premio, tarjeta* de regalo, propuesta de negocio*, propuesta confidencial, su
      cuenta ha sido, su cuenta sera, su cuenta fue, cuenta suspendida, verifique su cuenta, verificar su
      cuenta, confirme su contrasena, su buzon, hemos hackeado, hackeado, acceso a su dispositivo, sus
      dispositivos, derechos de autor, imagenes sin permiso, imagenes sin autorizacion, acciones legales,
      aviso final, ultimo aviso, abogado del difunto, transferencia bancaria, donar la suma, donacion de, que
      dios le bendiga querido, querido amigo
    `,
    fair: `
      herencia, premio*, ganador*, felicidades, confidencial, contrasena, donacion, reembolso, viuda,
      beneficiario*, transferencia, demanda
    `,
    weak: "cuenta, banco, fondos, aviso",
  },
];
