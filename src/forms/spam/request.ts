/**
 * Tells a customer: somebody who writes about a building and wants something done. This module is browser
 * compatible.
 *
 * @module
 */

import type { Reading } from "./reading.ts";

/** Parts of a house and what is done to them, singular and plural, English and Spanish; folded. */
const building = set(`
  generator stove oven freezer dock blinds shades shutters awning scaffolding mailbox dumpster plaster mortar grout
  caulk trim molding moulding baseboard baseboards quartz granite hinge lock latch chandelier switch fuse valve hose
  spigot sprinkler sprinklers irrigation tree trees stump hedge mulch gravel asphalt concrete cement paver pavers brick
  bricks stone slate joist joists beam beams truss rafter sill jamb dormer gable eave hood disposal washer dryer radiator
  lift bars wheelchair sauna jacuzzi pond asbestos radon wallpaper vinyl epoxy estufa refrigerador secadora lavadora
  cerradura chapa bisagra ladrillo ladrillos cemento concreto losa viga vigas columna yeso tablaroca estuco persianas
  toldo mosaico azotea arbol arboles pasto zacate riego foco lampara enchufe medidor malla impermeabilizar soldar
  house roof roofs  shingle shingles gutter gutters downspout soffit fascia siding stucco brick chimney
  fireplace attic basement crawlspace foundation slab garage driveway walkway sidewalk patio deck decks porch pergola
  lanai gazebo fence fences gate gates yard backyard lawn shed barn carport pool spa kitchen bath bathroom bathrooms
  bathtub tub shower toilet sink faucet vanity cabinet cabinets countertop countertops backsplash tile tiles floor
  floors flooring hardwood laminate lvp carpet carpets stairs steps stair railing handrail ramp wall walls ceiling
  drywall paint painting painted window windows skylight door doors doorway closet closets room rooms bedroom bedrooms
  hallway laundry  insulation hvac furnace ac boiler heater pump refrigerator dishwasher appliance appliances softener minisplit splits thermostat ductwork duct ducts vent fan plumbing pipe
  pipes drain drains sewer septic sump electrical outlet outlets breaker panel wiring lights lighting condo townhouse
  townhome duplex apartment cabin cottage trailer    reno tarp   solar
  casa casas techo techos tejado teja tejas lamina canaleta canaletas pared paredes muro barda cerca reja porton patio
  terraza cochera garaje sotano atico cocina bano banos tina regadera ducha inodoro excusado lavabo fregadero llave
  tuberia tuberias drenaje fosa caldera calentador boiler clima aire calefaccion piso pisos azulejo azulejos loseta
  loza alfombra escalera escaleras barandal puerta puertas ventana ventanas cuarto cuartos recamara recamaras sala
  pasillo closet gabinetes pintura pintar yarda jardin alberca piscina porche banqueta entrada instalacion apagador
  contactos luz cableado departamento condominio traila  
`);

/** Words with which somebody asks for work; each needs no other. */
const asking = set(`
  need  needed  want  wanted  looking  estimate estimates quote quotes bid bids
   replace replaced replacing repair repaired repairing install installed installing fix fixed redo rebuild
  remodel renovate measure   ballpark necesito necesitamos ocupo ocupamos quiero queremos quisiera
  quisieramos presupuesto cotizacion estimado cotizar arreglar arreglen reparar reparacion cambiar poner instalar
  componer remodelar medir urge cuesta cobran costaria
`);

/** What goes wrong with a house. */
const faults =
  /^(leak|crack|rott|rot$|flood|mold|mildew|sag|clog|damag|drip|broke|peel|crumbl|loose$|stuck$|squeak|rust|hail|termit|smell|warp|goter|gotea|fuga|humed|moho|rot[oa]s?$|agriet|inund|tapad|podrid|descompu|oxid)/;

/** "Home" is a house after these; "work from home" and "home services" are none. */
const owners = new Set(["my", "our", "mobile", "new", "this", "old"]);
const webPart = /^(link|page|image|title|url|site|website)/;

/** Words after which a house is the reader's: "your home service business". */
const readers = new Set(["your", "su", "tu", "sus", "tus", "you", "home"]);
const trade =
  /^(service|services|improvement|business|businesses|contractor|contractors|builder|builders|installer|compan|leads?$|owner|pros?$)/;

/** How a submission reads as a customer's. */
export interface Request {
  /** One each for a part of a building that is not the reader's trade, for asking, and for a fault. */
  readonly strength: number;
  /** Their different words: two for a part of a building and for a fault, one for asking. */
  readonly weight: number;
  /** Asks, and names neither a part of a building nor a fault. */
  readonly isOnlyAsking: boolean;
}

/** Looks for a customer's request. */
export function readRequest(reading: Reading): Request {
  const found = new Set<string>();
  let weight = 0;
  let isBuilding = false;
  let isAsking = false;
  let isFault = false;
  for (const { role, words } of reading) {
    if (role !== "message" && role !== "answer" && role !== "company") continue;
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as string;
      const before = words[at - 1] ?? "";
      if (readers.has(before)) continue;
      const next = words[at + 1] ?? "";
      const isHome = word === "home" && owners.has(before);
      const names = (building.has(word) || isHome) && !trade.test(next);
      const asks = asking.has(word) && next !== "more";
      const fails = faults.test(word) && !webPart.test(next);
      isBuilding ||= names;
      isAsking ||= asks;
      isFault ||= fails;
      if ((names || asks || fails) && !found.has(word)) {
        found.add(word);
        weight += asks ? 1 : 2;
      }
    }
  }
  return {
    strength: Number(isBuilding) + Number(isAsking) + Number(isFault),
    weight,
    isOnlyAsking: isAsking && !isBuilding && !isFault,
  };
}

function set(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}
