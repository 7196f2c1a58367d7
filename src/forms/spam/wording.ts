/**
 * Single words that sellers use more than customers do, and the reverse: data only, written as in
 * `spam_lexicon.ts`. Each counts once; none says much, many together do. This module is browser compatible.
 *
 * @module
 */

/** Words of sellers, by weight. */
export const sellerWords: Readonly<Record<1 | 2 | 3, string>> = {
  3: `
    takeoff*, csi divisions, no minimum, embroidered, funding request, bank statements, fixed matches, odds,
    no strings, married women, buy traffic, for this site, full roof replacements, best person to, right
    direction, half my usual, free first, first three are free, teams like yours, homeowners, property owners,
    home owners, visitors, buyers, attendees, propietarios, duenos de casa, dueno de casa, tradespeople,
    esteemed, enterprises, startups, wholesale prices, voiceover, live transfers, retainers, retainer,
    networking, booth, exhibit, payouts, trading group, unauthorized, restore access, remittance, unpaid toll,
    retired general, proposal worth, suma de, suma grande, datos bancarios, mirror quality, back in stock,
    half price, no script, piloto automatico, cupos, precio especial para, lonas, volantes, calcomanias,
    tramitamos, no retainers, early bird, dental and vision, open enrollment, gps, voip, quickbooks, offshore,
    prayer, blessing, serious relations, amateurs, millionaire, contractors, businesses, clients, leads,
    remodelers, roofers, competitors, investors, distressed homes, our network, investment, investing, mentor,
    telegram, whatsapp us, crypto*, bitcoin*, btc, usdt, casino*, first deposit, per annum, viable, cooperat*,
    catalogue, passports, diplomas, ssn, homework, plagiarism, replicas, belly fat, big pharma, cutie, live on
    cam, weblog, blogging, click to, redelivery, customs fee, vulnerabilit*, bug bounty, dmarc, ethical
    hacker, hackers, hacker, infring*, evidence file, in syria, trunk box*, ads, ad accounts, targeting, per
    lead, no charge, trial, canvass*, pre screened, vetted, resumes, candidates, reconcile, payroll, no card
    required, try it free, free trial, downloads, subscribers, sign up at, anointed, breakthrough, collateral,
    approved for, final follow up, gano, mil al mes, tu vida, su vida, contratistas, competidores, negocios,
    criptomon*, inversion*, prestamos, le prestamos, aduana, pedido minimo, playeras, gorras, envio media
    pagina, prospectos, emprended*, ganancias, distribuidor*, mayoreo, fabricamos, vendemos, ofrecemos,
    suscri*, gana, invierte, seo, marketing, plaque, audit, fundraiser sponsor, sponsor*, supplier*,
    wholesale, factory, manufactur*, export*, moq, outsourc*, followers, traffic, conversion*, franchise,
    webinar*, ebook, masterclass, coaching program, coach, mastermind, automate*, automation, ai, chatgpt,
    saas, crm
  `,
  2: `
    email us, email us with, our firm, looking to acquire, looking to purchase, considered selling, serving
    your area, your ad, reserve a spot, edition, testify, expert manager, start free, contracting business,
    extra jobs, jobs a month, comision, tengo clientes, my commission, hearing how, useful information, come
    back, good website, loads up, kinds of loans, naked, be your own boss, best price, best prices, billion,
    cash bonus, clearance, double your, eliminate debt, expire, extra cash, fast cash, financial freedom, free
    access, free gift, free info, free membership, free money, full refund, get paid, giveaway, great offer,
    hidden charges, hidden costs, increase sales, increase traffic, info you requested, join millions, limited
    time, lower rates, lowest price, lowest prices, make money, money back, name brand, no catch, no cost, no
    fees, no hidden, no obligation, no purchase necessary, no strings, not spam, once in a lifetime, online
    degree, potential earnings, pure profit, refinance, risk free, satisfaction guaranteed, save big, save up
    to, serious cash, special promotion, supplies limited, limited supply, take action, while supplies last,
    while stocks last, why pay more, you have been selected, us dollars, vacation, unlimited, unsecured,
    undisclosed, urgent response, kindly, quotation, inquiry, enquiry, best regards, warm regards, esteemed
    company, profile of, portfolio, our portfolio, free quote, get a free, we re offering, price range from,
    bulk, sample, samples, minimum order, reliable supplier, custom made, wholesaler, at your convenience,
    brochure attached, get in touch, feel free to reach, feel free to check, bill in half, rates as low,
    guaranteed results, proven system, sin compromiso, garantizado, garantizados, resultados, primera
    consulta, llame ya, contactenos, escribanos, escribenos, mandame mensaje, escribeme, responda, haga clic,
    promociones, ahorre, ahorra, gane, obtenga, reciba, recibe, registrate, unete, compre, compra ya, sin
    intereses, cupon, thousands of, a day, switch your, your market, competition, no contract, no contracts,
    certified, booth price, ends soon, ends this month, slot open, instead of, helpers, experienced framers,
    operators, per call, a call, a report, report same day, soft pull, rates dropped, checar credito, efectivo
    hoy, titulo de su, identificacion y, precio de promocion, promocion, adoption, vaccinated, puppies,
    shipped, kind and, cheerful, profile, serious about, skilled, blogger, bookmarked, shared your,
    application at, application, private number, confianza, en privado, propuesta, specials, available on,
    long term, relationship, demand, proposal for, prepare a proposal, esteemed, reply to get, get started,
    opens and clicks, one page, websites, rank, ranks, ranking*, customers, exclusive, guaranteed, affordable,
    per month, month to month, mo, app, software, platform, widget, content, posts, videos, short videos,
    edit, audience, campaign*, creative, mailing, postcard, new homeowners, hire, hiring, network, finance
    projects, produce, mandatory, fines, per location, compliant, compliance, sued, offices, sampler, snacks,
    bookkeeping, sales tax, flat, approved, terms, dear, greetings, copy, teaches, trades, broker, recover,
    recovery, stolen, trustworthy, behalf, percent, package, unpaid, infringement, copyright, photographs,
    formal notice, contacts, worldwide, shipping, premium, discreet, high quality, writers, students, 15 off,
    20 off, 30 off, 10 off, 25 off, 40 off, today only, this month only, diabetes, ritual, banned, watch,
    bored, deposit, instant, vip, bonus, claim, blog, reading this, visit my, my page, very helpful, resume,
    weekly pay, hr, work from home, from home, position, weekly, seed, miracle, collapse, savings, gold,
    proposal, already use it, requirement, plans are, business plan, gift, gifts, prize, reward*, winner*,
    award*, chosen, congratulations, press kit, certificate, download, subscribe, join, register, limited,
    spots, act fast, hurry, pricing, packages, package deal, commission*, revenue, profit*, income, earn,
    earning*, million*, transfer, fund, funds, lottery, charity, donate, invoice attached, attached invoice,
    overdue, suspended, suspend*, deactivat*, expire*, expiration, renewal, domain, hosting, server, database,
    directory, vendors, partner, partnership, affiliates, opportunity, opportunities, solution, solutions,
    proven, strategy, strategies, growth, grow, scale, boost, increase, maximize, brand, branding, reach,
    results, performance, roi, interested in learning, quick call, quick chat, send over, mind if i, shall i,
    i ll show, show you, take a look at our, introduce, introduction, specialize, specializing, expertise,
    dedicated team, our team of, our clients, nosotros ofrecemos, tu negocio, tu empresa, clientes, ventas,
    videos cortos, descuento, anuncio, anuncios, publicidad, redes sociales, edicion, aparto, sin costo, sin
    revisar su credito, semanales, celular y, desde mi celular, paquete retenido, retenido, pague, 70 de
    descuento, solo hoy, analisis, llamadas que, oportunidad, gratis, registro, inscri*, curso, cursos,
    taller, empresas, proveedores, logo, catalogo, cotizacion al correo, premio*, ganador*, millones,
    herencia, fondos, bloquead*, suspendid*, verifi*, dinero facil, ingresos, dolares, marca, relojes,
    perfumes, tenis
  `,
  1: `
    seguros, scam, gratis, membership, monthly, companies, free, offer, offers, offering, program, projects,
    video, order, delivery, deliver, cost effective, rates, trade, trades, professionals, team, teams,
    services, service, products, product, quality, price, discount, deal, deals, save, saving, cash, money,
    pay, paid, payment, card, credit, loan, post, page, online, internet, digital, media, social, facebook,
    instagram, tiktok, youtube, list, data, reply, link, visit, learn, today, now, instantly, days, hours,
    minutes, hundred*, thousand*, top, best, leading, trusted, expert, experts, professional, qualified,
    certified, available immediately, helping, helps, get more, world, global, international, country,
    countries, god, private, secret, secure, legal, claims, notice, required, must, immediately, access,
    system, manager, agent, agency, representative, consultant, specialist, advisor, director, department,
    committee, office of, ceo, founder, owner, owners, homeowners, correo, informacion, info, servicio,
    servicios, profesional, profesionales, calidad, precio, precios, productos, producto, oferta, pago, pagos,
    tarjeta, equipo, mejores, lideres, experiencia, aprovech*, hoy mismo, credito, prestamo, banco, dinero,
    linea, celulares, plataforma, sistema, programa, aplicacion, your website, your site, your company, your
    business, su empresa, su negocio, su compania, su sitio, su pagina, tu pagina, password, verify, bank,
    account, listing
  `,
};

/** Words of customers, besides the parts of a building; each takes one off. */
export const customerWords = `
  fixer upper, a friend, red tagged, yo pago, better off, regresan, compania de seguros, up front, heat pump,
  recommend, recomendar, excelente, excellent, great job, your team was, was professional, on time, quitenme,
  siguen, me dejo, validez, valida, ya les, raffle, robotics, hasta cuando, your guys, your crew, your truck,
  your trucks, your workers, your technician, your office said, estimator, technician, call back, calls me
  back, left a message, months ago, weeks ago, last week, last year, last month, yesterday, my money, charged
  me, i called, we called, i need, we need, i want, i m looking, i would like, i d like, interview, my job, my
  project, my appointment, your men, your installer, installer, you installed, you guys, y all, you did,
  already paid, my daughter, my son, look at it, take a look at my, give me, someone to, somebody to,
  arreglen, vinieron, vino, trabajadores, mi casa, me urge, disculpe, buen dia, recommended, nonprofit,
  volunteers, veterans, church, school, class, fraude, verdad, es verdad, me dijeron, me llego, no quiero, is
  it real, honest, advice, told me, my attorney, retired, inherited, estate, sold the, i paid, i signed,
  signed, sign up for, pick up, in person, showroom, hours, permit, code, inspector s, crawl, adjuster s,
  claim, denied, contract i, house, home, se quejan, me cobraron, pague, quede, quedo, warranty, garantia,
  invoice, factura, receipt, recibo, cancel, reschedule, property, rental, rentals, tenants, attorney,
  repairs, maintenance, my, mine, wife, husband, son, daughter, mother, father, mom, dad, kids, baby,
  landlord, tenant, neighbor, neighbors, neighbour, renting, bought, moved, moving, closing, inspector,
  adjuster, deductible, asap, emergency, urgent, tomorrow, monday, tuesday, wednesday, thursday, friday,
  saturday, sunday, weekend, morning, mornings, afternoon, evening, come out, come by, call me, after 5, how
  much, how soon, how long, sq ft, square feet, square foot, feet, foot, ft, inch, inches, linear, old one,
  years old, year old, built in, winter, rain, rains, storm, snow, wind, hail, someone, somebody, crew, guys,
  haul, labor, job, small job, thanks, thx, pls, plz, hello, hi, story, dog, mi, mis, esposa, esposo, hijo,
  hija, mama, papa, vecino, vecina, rentero, casero, urge, urgente, manana, lunes, martes, miercoles, jueves,
  viernes, sabado, domingo, tarde, cuanto, cuando, pies, metros, lluvia, lluvias, viento, viejo, vieja,
  pueden, podrian, venir, vengan, visita, gracias, ayuda, vivo, compramos, senora
`;
