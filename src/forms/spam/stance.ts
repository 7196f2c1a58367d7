/**
 * What sellers say whatever they sell: data only, written as in `spam_lexicon.ts`. This module is browser
 * compatible.
 *
 * @module
 */

/** What makes a sender a seller, whatever is sold; each counts once. */
export type Concept = "sales_talk" | "offer" | "your_business" | "results" | "opener" | "call_to_action";

const englishConcepts: Readonly<Record<Concept, string>> = {
  sales_talk: `
    did you know, imagine if, what if you, what if your, tired of, struggling with, struggling to, stop
    wasting, stop losing, would love to, happy to share, let me show you, show you how, see how, find out how,
    here s how, here is how, share how it works, proven, trusted by, case study, case studies, award winning,
    at no cost, no cost to you, free of charge, first month free, first week is free, first week free, setup
    fee, set up fee, no setup, no contract*, no upfront, no fee, calendly, packages start*, prices start*,
    plans start*, starting from, from just, for just, for only, off on first, off your first, off this month,
    of the competition, ahead of the, last spot, one spot, spots left, before it s too late, do you need help,
    do you struggle, are you looking for more, are you still paying, are you tired, are you ready to, are you
    aware, have you considered, have you ever thought, want to see it, want me to, want them, want more, get
    you more, help you get, help you save, get your business, i work with contractors, work with contractors,
    we got a, i got a, results like, guaranteed or, save hours, saves you, in your inbox, great site, nice
    website, nice site, great website, useful info, very informative, thanks for sharing, awesome post, let s
    talk, the right person, quick video, free training, pay only, you only pay, only pay when, interested
  `,
  offer: `
    we offer, we provide, i offer, i provide, our service, our services, our agency, our team, we specialize,
    we specialise, i specialize, we help, i help, we can help, i can help, we build, we create, we design, we
    develop, we deliver, we work with, we worked with, we ve helped, we have helped, we partner with, our
    clients, our experts, our platform, our software, our tool*, our product, our products, our solution*, our
    pricing, our packages, our portfolio, our system, our program, on behalf of, i represent, we are a
    leading, we are a professional, we re a, we supply, we manufacture, we run, we connect, we generate, we
    fix, we put together, i put together, i recently helped, we just helped, we currently, we do this, i
    build, i run a, i design, i create
  `,
  your_business: `
    your website, your site, your business, your company, your brand, your online presence, your online, your
    google, your practice, your firm, your listing, your web, your homepage, your blog, your page, your
    domain, your competitors, your customers, your clients, your industry, your sales, your revenue, your
    marketing, your seo, your store, your shop, businesses like yours, companies like yours, contractors like
    you, contractors like yourself, business owners, roofing companies, roofing contractors, home service
    businesses, home service companies, remodeling companies, contractors in, other contractors, small
    businesses, roofers in, for contractors
  `,
  results: `
    more customers, more leads, more clients, more sales, more traffic, more calls, more jobs, more revenue,
    more business, more visitors, more bookings, more appointments, more inquiries, increase your, boost your,
    grow your, improve your, maximize your, skyrocket, rank*, first page, page one, page 1, conversion*, roi,
    qualified leads, exclusive leads, lead flow, profitab*, save up to, cost effective, increase sales,
    increase traffic, miss out, missing out, losing customers, losing business, losing leads, losing money,
    missed calls, competitive price*, competitive rates, high quality, top quality, best price*, low cost,
    starting at, only 99, per month, month to month, guaranteed, money back, risk free, turnaround, accurate
  `,
  opener: `
    i came across your, came across your, i was looking at your, i noticed your, i noticed that your, i
    noticed you, i found your website, i found your site, found your business, i visited your, i was on your,
    i was browsing your, checked out your, i checked your, reviewed your, stumbled, hope this message finds,
    hope this email finds, hope this finds you, hope you are doing well, hope you re doing well, hope all is
    well, hope your day, dear sir, dear madam, dear owner, dear business owner, dear webmaster, dear manager,
    dear team, dear site owner, hello sir, sir madam, are you the owner, owner or manager, hi business owner,
    decision maker, to whom it may concern, greetings, i wanted to reach out, i m reaching out, i am reaching
    out, reaching out to, reaching out because, just following up, following up on my, i am writing to, i m
    writing to, my name is _ and i, i am contacting you, quick question, hey there, attention business owner*,
    good day, not sure if you, person in charge, right person, who handles
  `,
  call_to_action: `
    reply stop, reply yes, reply to this, just reply, reply with, reply back, schedule a call, schedule a
    quick, book a call, book a quick, book a free, quick call, quick chat, brief call, short call, hop on a
    call, jump on a, 10 minute*, 15 minute*, 5 minutes, free audit, free report, free demo, free quote for
    your, free trial, free consultation today, free sample*, unsubscribe, opt out, opt you out, remove you
    from, if you are interested, if you re interested, if interested, are you interested, would you be
    interested, would you be open, are you open to, open to a, open to learning, interested in learning more,
    would you like me to, would you like us to, can i send you, may i send you, shall i send, should i send,
    could i send, i can send you, i ll send you, send you a, send you the, send you some, send over, learn
    more, visit our, visit us at, check out our, check it out, check this out, click here, click below, click
    the link, click on the link, contact us today, get in touch with us, call us today, sign up, no
    obligation, no commitment, limited time, special offer, act now, order now, shop now, buy now, get
    started, join now, register now, apply now, request a demo, more info here, find out more, for more
    information, for more details visit, kindly reply, kindly contact, kindly get back, kindly let us know,
    worth a chat, worth a conversation, worth a quick, does that sound, sound good, give us a try, let me know
    if you want, looking forward to working with you, feel free to contact, don t miss
  `,
};

const spanishConcepts: Readonly<Record<Concept, string>> = {
  sales_talk: `
    sabia que, sabias que, imagine, imagina, cansado de, quiere mas, quieres mas, quiere aumentar, quiere
    vender, necesita ayuda con, esta buscando, esta perdiendo, casos de exito, sin contrato*, sin permanencia,
    primer mes gratis, paquetes desde, precios desde, planes desde, desde solo, a partir de, ultimo lugar,
    ultimos lugares, antes de que, no pierda, no pierdas, esperamos su respuesta, quedo a sus ordenes,
    quedamos a sus ordenes, quedo atento, quedamos atentos, te explico, le explico, le mando informacion,
    mandar informacion, vendemos, vendo, amplia experiencia, anos de experiencia en el
  `,
  offer: `
    ofrecemos, ofrezco, le ofrecemos, te ofrecemos, nuestros servicios, nuestro servicio, nuestro equipo,
    nuestra agencia, nuestra empresa, nuestra plataforma, nos especializamos, nos dedicamos, somos
    especialistas, somos expertos, somos una agencia, somos una empresa, somos un equipo, ayudamos a, podemos
    ayudar*, le ayudamos, te ayudamos, puedo ayudar*, contamos con, trabajamos con, desarrollamos, disenamos,
    creamos, brindamos, nuestros clientes, nuestro sistema, represento a, hemos ayudado
  `,
  your_business: `
    su sitio web, tu sitio web, su pagina, tu pagina, su negocio, tu negocio, su empresa, tu empresa, su
    marca, tu marca, sus ventas, tus ventas, sus clientes, tus clientes, su sitio, su perfil, su presencia,
    negocios como, empresas como, contratistas como, para contratistas, pequenos negocios, duenos de negocio*
  `,
  results: `
    mas clientes, mas ventas, mas llamadas, mas visitas, mas trabajos, mas ingresos, aumentar, aumente,
    aumenta, incrementar, incremente, impulsar, crecer, hacer crecer, primera pagina, primeros lugares,
    resultados garantizados, garantizad*, rentab*, al mes, mensuales, precios competitivos, mejores precios,
    alta calidad, clientes potenciales, perdiendo clientes, desde solo, por solo, sin costo, bajo costo
  `,
  opener: `
    visite su, visitando su, vi su pagina, revise su, revisando su, encontre su, note que su, note que, me
    tope con, espero que este, espero que se encuentre, espero se encuentre, espero que este bien, estimado
    dueno, estimado propietario, estimado senor, estimados senores, estimado empresario, estimado, estimados,
    a quien corresponda, le escribo para, le escribo porque, le contacto, me pongo en contacto, es usted el
    dueno, es el dueno, cordial saludo, reciba un cordial, saludos cordiales, atencion duenos
  `,
  call_to_action: `
    responda a este, responda si, responda este, si le interesa, si esta interesado, si te interesa, si estas
    interesado, le interesa, te interesa, le gustaria, te gustaria, agende una, agenda una, agendar una,
    llamada rapida, llamada de 15, llamada de 10, consulta gratis, consulta gratuita, sin compromiso,
    contactenos, contactanos, escribanos, escribenos, llamenos, haga clic, haz clic, visite nuestr*, visita
    nuestr*, conozca mas, conoce mas, mas informacion en, registrese, registrate, inscribase, inscribete,
    oferta limitada, cupos limitados, por tiempo limitado, promocion especial, aproveche, aprovecha, envieme
    un, mandeme un mensaje, darse de baja, darte de baja, no desea recibir, le envio, le puedo enviar, puedo
    enviarle, quiere que le, unete, unase, pide tu, solicite su, solicita tu
  `,
};

/** What sellers say, in both languages. */
export const concepts: Readonly<Record<Concept, string>> = Object.fromEntries(
  Object.entries(englishConcepts).map((
    [name, text],
  ) => [name, `${text}, ${spanishConcepts[name as Concept]}`]),
) as Record<Concept, string>;
