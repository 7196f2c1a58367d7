/**
 * Mail services whose addresses are thrown away after use. A compact list of the well-known ones; what is under
 * one of them counts too. This module is browser compatible.
 *
 * @module
 */

/**
 * The domains, lower case.
 *
 * Chosen: services that hide a person's real address for good (relay and alias services of browsers and phones)
 * are not in it, because customers use them and can be reached.
 */
export const disposableDomains: ReadonlySet<string> = new Set(
  (
    "mailinator.com mailinator.net mailinator2.com guerrillamail.com guerrillamail.net guerrillamail.org " +
    "guerrillamail.biz guerrillamail.de guerrillamail.info guerrillamailblock.com sharklasers.com grr.la pokemail.net " +
    "spam4.me 10minutemail.com 10minutemail.net 10minutemail.co.za 10minemail.com 20minutemail.com 20minutemail.it " +
    "tempmail.com temp-mail.org temp-mail.io temp-mail.ru tempmail.net tempmail.dev tempmail.plus tempmailo.com " +
    "tempmailaddress.com tempail.com tempinbox.com tempr.email tempemail.net tempemail.co tempomail.fr temporarymail.com " +
    "tmpmail.org tmpmail.net tmail.com tmail.ws tmailor.com throwawaymail.com throwam.com throwaway.email " +
    "yopmail.com yopmail.fr yopmail.net cool.fr.nf jetable.fr.nf jetable.org courriel.fr.nf moncourrier.fr.nf " +
    "trashmail.com trashmail.net trashmail.de trashmail.me trashmail.io trash-mail.com trash-mail.de trashmail.ws wegwerfmail.de " +
    "wegwerfmail.net wegwerfmail.org wegwerfemail.de einrot.com cuvox.de dayrep.com fleckens.hu gustr.com jourrapide.com " +
    "rhyta.com superrito.com teleworm.us armyspy.com dispostable.com discard.email discardmail.com discardmail.de " +
    "fakeinbox.com fakemail.net fakemailgenerator.com emailfake.com email-fake.com generator.email getnada.com nada.email " +
    "getairmail.com maildrop.cc mailnesia.com mailcatch.com mailnull.com mailsac.com mailtemp.info mailtemp.net mail-temp.com " +
    "mailpoof.com mailto.plus mailforspam.com mailexpire.com mailmoat.com mailzilla.com mailde.de moakt.com moakt.cc moakt.ws " +
    "mohmal.com mohmal.in mintemail.com mytemp.email mytrashmail.com mt2015.com nowmymail.com objectmail.com one-time.email " +
    "onewaymail.com owlymail.com proxymail.eu rcpt.at receiveee.com safetymail.info sneakemail.com sogetthis.com spambog.com " +
    "spambog.de spambog.ru spambox.us spamex.com spamfree24.org spamgourmet.com spamhole.com spaml.com spammotel.com spamspot.com " +
    "spamthis.co.uk suremail.info tagyourself.com tradermail.info vomoto.com zoemail.com 33mail.com inboxkitten.com inboxbear.com " +
    "inboxes.com burnermail.io burnthespam.info byom.de chammy.info crazymailing.com deadaddress.com despam.it dropmail.me " +
    "emltmp.com 10mail.org yomail.info eelmail.com emailondeck.com emailsensei.com emailtemporanea.com emailtemporario.com.br " +
    "emailwarden.com filzmail.com get2mail.fr gishpuppy.com harakirimail.com hidemail.de incognitomail.org instantemailaddress.com " +
    "kasmail.com kurzepost.de lroid.com lookugly.com luxusmail.org mailbox52.ga mailhazard.com mailimate.com mailismagic.com " +
    "mailme.lv mailmetrash.com mailshell.com mailslite.com mierdamail.com minuteinbox.com muellmail.com mvrht.net " +
    "netmails.net no-spam.ws nospamfor.us oneoffemail.com pookmail.com privy-mail.com putthisinyourspamdatabase.com quickinbox.com " +
    "rtrtr.com selfdestructingmail.com shieldemail.com smellfear.com snapmail.cc sofort-mail.de soodonims.com supermailer.jp " +
    "tafmail.com thankyou2010.com thisisnotmyrealemail.com tempsky.com tyldd.com uggsrock.com upliftnow.com veryrealemail.com " +
    "viditag.com whyspam.me xagloo.com xemaps.com xoxy.net yapped.net zippymail.info zetmail.com fexpost.com fexbox.org chitthi.in " +
    "mailbox.in.ua any.pink rover.info vintomaper.com bugfoo.com cosmicart.ru esiix.com wwjmp.com oosln.com vddaz.com dpptd.com " +
    "laafd.com txcct.com rteet.com 1secmail.com 1secmail.org 1secmail.net kzccv.com qiott.com wuuvo.com icznn.com ezztt.com " +
    "linshiyouxiang.net bccto.me chacuo.net smailpro.com internxt.com muq.orangotango.tk cmail.club byebyemail.com mailgutter.com " +
    "altmails.com vusra.com bestparadize.com gufum.com lyricspad.net storegmail.com tohru.org pirolsnet.com finews.biz " +
    "correotemporal.org correo-temporal.com"
  ).split(" "),
);
