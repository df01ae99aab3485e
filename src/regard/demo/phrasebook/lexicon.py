"""The lexicon: one table per kind of word, parsed by `entries.py`, inflected by `english.py` and `french.py`.

Each line is `English | French`, with what no rule can know:

- a noun has its gender, and after a slash its plural if irregular;
- an adjective that precedes its noun starts with `<`; an irregular feminine follows the masculine,
  then the form used before a vowel; `=` marks an invariable adjective;
- an English verb has after a slash its past if irregular; a French verb outside the three regular
  groups has, after a colon, its present (je, il, nous, vous, ils), its past participle and the stem of
  its future; `*` marks verbs that form the past with être.

No two words that can fill the same slot share a translation, which keeps the corpus one-to-one.
"""

from dataclasses import dataclass

WOMENS_NAMES = (
    "Jane Anne Alice Emma Julia Laura Sophie Claire Marie Sarah Nina Eva Clara Charlotte Isabelle Olivia "
    "Rose Lucie Juliette Nora"
)
MENS_NAMES = (
    "Paul Thomas David Daniel Martin Robert Arthur Oscar Victor Simon Max Lucas Leo Adam Eric Alan Felix "
    "Louis Gabriel Samuel"
)

# People, used with 'the' and 'this'; the English word shows the gender, or French has only one form.
PEOPLE = """
man/men | homme m
woman/women | femme f
boy | garçon m
girl | fille f
child/children | enfant m
king | roi m
queen | reine f
prince | prince m
princess | princesse f
actor | acteur m
actress | actrice f
waiter | serveur m
waitress | serveuse f
lady | dame f
gentleman/gentlemen | monsieur/messieurs m
doctor | médecin m
baker | boulanger m
gardener | jardinier m
teacher | professeur m
hero/heroes | héros m
tourist | touriste m
student | étudiant m
neighbor | voisin m
farmer | fermier m
engineer | ingénieur m
"""
PEOPLE_ADJECTIVES = "young, old, famous, happy, rich, shy, elegant, polite, brave, patient, tired, serious"

# Family, used with a possessive. '1': singular only.
KIN = """
mother 1 | mère f
father 1 | père m
sister | sœur f
brother | frère m
son | fils m
daughter | fille f
uncle | oncle m
aunt | tante f
grandmother | grand-mère/grands-mères f
grandfather | grand-père/grands-pères m
nephew | neveu m
niece | nièce f
"""

VERBS = """
admire | admirer
arrive | arriver*
break/broke | casser
bring/brought | apporter
buy/bought | acheter
call | appeler: appelle appelle appelons appelez appellent appelé appeller
choose/chose | choisir
clean | nettoyer
close | fermer
come/came | venir*: viens vient venons venez viennent venu viendr
come back/came back | revenir*: reviens revient revenons revenez reviennent revenu reviendr
count | compter
dance | danser
describe | décrire: décris décrit décrivons décrivez décrivent décrit décrir
discover | découvrir: découvre découvre découvrons découvrez découvrent découvert découvrir
draw/drew | dessiner
drink/drank | boire: bois boit buvons buvez boivent bu boir
eat/ate | manger
feed/fed | nourrir
find/found | trouver
finish | finir
fold | plier
follow | suivre: suis suit suivons suivez suivent suivi suivr
forget/forgot | oublier
give/gave | donner
go/went | aller*: vais va allons allez vont allé ir
hate | détester
have/had | avoir: ai a avons avez ont eu aur
hear/heard | entendre
help | aider
hope | espérer
invite | inviter
iron | repasser
keep/kept | garder
know/knew | connaître: connais connaît connaissons connaissez connaissent connu connaîtr
learn/learned | apprendre: apprends apprend apprenons apprenez apprennent appris apprendr
leave/left | partir*: pars part partons partez partent parti partir
lend/lent | prêter
listen to | écouter
live | habiter
look for | chercher
lose/lost | perdre
love | aimer
meet/met | rencontrer
open | ouvrir: ouvre ouvre ouvrons ouvrez ouvrent ouvert ouvrir
order | commander
paint | peindre: peins peint peignons peignez peignent peint peindr
photograph | photographier
play | jouer
prefer/preferred | préférer
prepare | préparer
read/read | lire: lis lit lisons lisez lisent lu lir
receive | recevoir: reçois reçoit recevons recevez reçoivent reçu recevr
record | enregistrer
refuse | refuser
repair | réparer
say/said | dire: dis dit disons dites disent dit dir
see/saw | voir: vois voit voyons voyez voient vu verr
sell/sold | vendre
send/sent | envoyer: envoie envoie envoyons envoyez envoient envoyé enverr
share | partager
show | montrer
sing/sang | chanter
sleep/slept | dormir: dors dort dormons dormez dorment dormi dormir
speak/spoke | parler
stay | rester*
study | étudier
take/took | prendre: prends prend prenons prenez prennent pris prendr
take off/took off | enlever
taste | goûter
teach/taught | enseigner
thank | remercier
think/thought | penser
translate | traduire: traduis traduit traduisons traduisez traduisent traduit traduir
travel | voyager
try on | essayer
understand/understood | comprendre: comprends comprend comprenons comprenez comprennent compris comprendr
visit | visiter
wait for | attendre
walk | marcher
wash | laver
watch | regarder
wear/wore | porter
work | travailler
write/wrote | écrire: écris écrit écrivons écrivez écrivent écrit écrir
"""

ADJECTIVES = """
bad | <mauvais
beautiful | <beau belle bel
big | <grand
black | noir
blue | bleu
boring | ennuyeux
brave | courageux
brown | =marron
careful | prudent
clean | propre
cold | froid
comfortable | confortable
curious | curieux
delicious | délicieux
difficult | difficile
dirty | sale
elegant | élégant
excellent | <excellent
expensive | cher
famous | célèbre
fresh | frais fraîche
funny | drôle
generous | généreux
German | allemand
good | <bon bonne
gray | gris
green | vert
happy | heureux
heavy | lourd
hot | chaud
important | important
intelligent | intelligent
interesting | intéressant
Italian | italien
Japanese | japonais
kind | gentil gentille
lazy | paresseux
light | léger
long | <long longue
modern | moderne
modest | modeste
new | <nouveau nouvelle nouvel
old | <vieux vieille vieil
patient | patient
pink | rose
polite | poli
practical | pratique
pretty | <joli
proud | fier
quiet | tranquille
red | rouge
rich | riche
sad | triste
serious | sérieux
shy | timide
sick | malade
sincere | sincère
small | <petit
Spanish | espagnol
strange | étrange
tall | grand
tired | fatigué
useful | utile
white | blanc blanche
yellow | jaune
young | <jeune
"""


@dataclass(frozen=True)
class VerbFrame:
    """Verbs that take any of these nouns as object, and adjectives that go with all of the nouns."""

    verbs: str
    nouns: str
    adjectives: str
    mass: bool = False  # milk, bread: no plural, and a French partitive
    can_be_owned: bool = True  # whether a person can own one


VERB_FRAMES = (
    VerbFrame(
        verbs="read, find, translate, choose, finish, look for, keep, forget, describe",
        nouns="""
            book | livre m
            novel | roman m
            newspaper | journal m
            magazine | magazine m
            essay | essai m
            poem | poème m
            story | histoire f
            article | article m
            text | texte m
            """,
        adjectives=(
            "long, interesting, beautiful, new, old, difficult, funny, boring, sad, famous, good, excellent, "
            "Italian, German, Spanish, Japanese, useful, strange"
        ),
    ),
    VerbFrame(
        verbs="write, send, receive, read, finish, keep, lose",
        nouns="""
            letter | lettre f
            message | message m
            report | rapport m
            postcard | carte postale/cartes postales f
            email | courriel m
            invitation | invitation f
            """,
        adjectives="long, interesting, beautiful, new, old, funny, sad, strange, important, small",
    ),
    VerbFrame(
        verbs="eat, buy, sell, taste, share, choose, bring, order, prepare",
        nouns="""
            apple | pomme f
            orange | orange f
            banana | banane f
            pear | poire f
            strawberry | fraise f
            peach | pêche f
            lemon | citron m
            melon | melon m
            carrot | carotte f
            tomato/tomatoes | tomate f
            potato/potatoes | pomme de terre/pommes de terre f
            onion | oignon m
            bean | haricot m
            mushroom | champignon m
            vegetable | légume m
            egg | œuf m
            cake | gâteau m
            tart | tarte f
            cookie | biscuit m
            sandwich | sandwich m
            pizza | pizza f
            omelet | omelette f
            pancake | crêpe f
            """,
        adjectives="delicious, good, small, beautiful, excellent",
    ),
    VerbFrame(
        verbs="drink, buy, order, bring, prepare, taste, refuse",
        nouns="""
            coffee | café m
            tea | thé m
            milk | lait m
            water | eau f
            juice | jus m
            broth | bouillon m
            soup | soupe f
            lemonade | limonade f
            """,
        adjectives="hot, cold, good, excellent, delicious",
        mass=True,
    ),
    VerbFrame(
        verbs="eat, buy, order, sell, taste, bring, share",
        nouns="""
            bread | pain m
            cheese | fromage m
            meat | viande f
            fish | poisson m
            chicken | poulet m
            butter | beurre m
            ham | jambon m
            """,
        adjectives="good, fresh, excellent, delicious",
        mass=True,
    ),
    VerbFrame(
        verbs="buy, sell, find, lose, look for, choose, keep, forget, bring, take, repair, clean",
        nouns="""
            table | table f
            chair | chaise f
            lamp | lampe f
            watch | montre f
            bag | sac m
            umbrella | parapluie m
            computer | ordinateur m
            telephone | téléphone m
            knife/knives | couteau m
            glass | verre m
            cup | tasse f
            plate | assiette f
            bottle | bouteille f
            mirror | miroir m
            clock | horloge f
            basket | panier m
            ring | bague f
            toy | jouet m
            spoon | cuillère f
            guitar | guitare f
            radio | radio f
            pen | stylo m
            suitcase | valise f
            hammock | hamac m
            tool | outil m
            object | objet m
            """,
        adjectives=(
            "red, blue, green, yellow, white, black, gray, brown, big, small, new, old, beautiful, pretty, "
            "heavy, light, expensive, strange, useful, practical"
        ),
    ),
    VerbFrame(
        verbs="buy, sell, repair, wash, choose, look for, photograph",
        nouns="""
            car | voiture f
            bicycle | vélo m
            boat | bateau m
            truck | camion m
            motorcycle | moto f
            """,
        adjectives=(
            "red, blue, green, yellow, white, black, gray, big, small, new, old, beautiful, pretty, "
            "expensive, Italian, German, Japanese, dirty, clean, comfortable, practical"
        ),
    ),
    VerbFrame(
        verbs="wear, wash, iron, buy, take off, try on, choose, fold, sell",
        nouns="""
            shirt | chemise f
            dress | robe f
            skirt | jupe f
            coat | manteau m
            jacket | veste f
            scarf/scarves | écharpe f
            sweater | pull m
            tie | cravate f
            suit | costume m
            raincoat | imperméable m
            uniform | uniforme m
            """,
        adjectives=(
            "red, blue, green, yellow, white, black, gray, brown, pink, new, old, elegant, beautiful, "
            "pretty, comfortable, expensive, dirty, clean, light"
        ),
    ),
    VerbFrame(
        verbs="see, hear, watch, feed, draw, follow, find, photograph, look for, wash",
        nouns="""
            dog | chien m
            cat | chat m
            horse | cheval m
            bird | oiseau m
            cow | vache f
            rabbit | lapin m
            duck | canard m
            goat | chèvre f
            donkey | âne m
            squirrel | écureuil m
            elephant | éléphant m
            owl | hibou/hiboux m
            hamster | hamster m
            fox | renard m
            """,
        adjectives="small, big, white, black, brown, gray, beautiful, old, young, funny, sick",
    ),
    VerbFrame(
        verbs="visit, see, photograph, discover, admire, draw, look for, describe",
        nouns="""
            museum | musée m
            castle | château m
            church | église f
            garden | jardin m
            city | ville f
            village | village m
            island | île f
            park | parc m
            hotel | hôtel m
            farm | ferme f
            port | port m
            neighborhood | quartier m
            """,
        adjectives=(
            "old, new, beautiful, big, small, famous, modern, pretty, quiet, strange, Italian, Spanish, "
            "German, Japanese, interesting"
        ),
        can_be_owned=False,
    ),
    VerbFrame(
        verbs="watch, see, finish, describe, choose, record",
        nouns="""
            movie | film m
            show | spectacle m
            documentary | documentaire m
            cartoon | dessin animé/dessins animés m
            """,
        adjectives=(
            "long, interesting, beautiful, new, old, funny, boring, sad, famous, good, excellent, bad, "
            "Italian, German, Spanish, Japanese, strange"
        ),
        can_be_owned=False,
    ),
    VerbFrame(
        verbs="listen to, sing, hear, learn, choose, record, forget",
        nouns="""
            song | chanson f
            melody | mélodie f
            opera | opéra m
            """,
        adjectives=(
            "long, beautiful, new, old, funny, sad, famous, good, pretty, Italian, German, Spanish, Japanese"
        ),
        can_be_owned=False,
    ),
    VerbFrame(
        verbs="open, close, repair, break, clean, paint, wash",
        nouns="""
            door | porte f
            window | fenêtre f
            box | boîte f
            drawer | tiroir m
            closet | armoire f
            gate | portail m
            """,
        adjectives="red, blue, green, yellow, white, black, gray, brown, big, small, new, old, pretty, heavy",
    ),
    VerbFrame(
        verbs="see, draw, photograph, paint, admire, watch, find",
        nouns="""
            tree | arbre m
            flower | fleur f
            mountain | montagne f
            river | rivière f
            lake | lac m
            star | étoile f
            forest | forêt f
            """,
        adjectives="big, small, beautiful, pretty, strange, old",
        can_be_owned=False,
    ),
)

# Verbs with people as objects. Before a vowel, French 'him' and 'her' are both "l'": see `interactions.py`.
PEOPLE_VERBS = (
    "see, help, call, invite, wait for, thank, listen to, meet, look for, understand, photograph, "
    "hear, find, forget"
)
UNPLANNED_VERBS = "lose, forget, break"  # never with a modal verb
GIVING_VERBS = "give, show, lend, sell, send, bring"
STATIVE_VERBS = "love, hate, prefer"

# Objects of loving, hating and preferring in general: 'cats', les chats. The French entry has the article.
PLEASURES = """
music | la musique
summer | l'été
winter | l'hiver
spring | le printemps
autumn | l'automne
soccer | le football
tennis | le tennis
chess | les échecs
coffee | le café
tea | le thé
milk | le lait
water | l'eau
chocolate | le chocolat
cheese | le fromage
bread | le pain
fish | le poisson
meat | la viande
cats | les chats
dogs | les chiens
horses | les chevaux
birds | les oiseaux
apples | les pommes
oranges | les oranges
strawberries | les fraises
tomatoes | les tomates
beans | les haricots
eggs | les œufs
cakes | les gâteaux
flowers | les fleurs
movies | les films
novels | les romans
poems | les poèmes
cartoons | les dessins animés
museums | les musées
owls | les hiboux
hamsters | les hamsters
"""

SUBJECTS = """
French | le français
English | l'anglais
Italian | l'italien
Spanish | l'espagnol
German | l'allemand
Japanese | le japonais
Chinese | le chinois
Portuguese | le portugais
mathematics | les mathématiques
history | l'histoire
geography | la géographie
physics | la physique
chemistry | la chimie
biology | la biologie
philosophy | la philosophie
literature | la littérature
law | le droit
medicine | la médecine
art | l'art
"""
LANGUAGES = "French, English, Italian, Spanish, German, Japanese, Chinese, Portuguese"

GAMES = """
soccer | le football
tennis | le tennis
chess | les échecs
cards | les cartes
basketball | le basket
rugby | le rugby
volleyball | le volley
golf | le golf
hockey | le hockey
"""
INSTRUMENTS = """
piano | le piano
violin | le violon
guitar | la guitare
flute | la flûte
harp | la harpe
trumpet | la trompette
cello | le violoncelle
saxophone | le saxophone
accordion | l'accordéon
"""

# Occupations: French has no article, and a feminine form if there is one.
OCCUPATIONS = """
doctor | médecin médecin
baker | boulanger boulangère
nurse | infirmier infirmière
lawyer | avocat avocate
journalist | journaliste journaliste
architect | architecte architecte
dentist | dentiste dentiste
musician | musicien musicienne
singer | chanteur chanteuse
pharmacist | pharmacien pharmacienne
photographer | photographe photographe
translator | traducteur traductrice
cook | cuisinier cuisinière
mechanic | mécanicien mécanicienne
librarian | bibliothécaire bibliothécaire
secretary | secrétaire secrétaire
pilot | pilote pilote
gardener | jardinier jardinière
hairdresser | coiffeur coiffeuse
student | étudiant étudiante
"""

# Countries and continents, with their French article.
COUNTRIES = """
Africa | l'Afrique f
Asia | l'Asie f
Europe | l'Europe f
South America | l'Amérique du Sud f
North America | l'Amérique du Nord f
Oceania | l'Océanie f
France | la France f
Italy | l'Italie f
Spain | l'Espagne f
Germany | l'Allemagne f
England | l'Angleterre f
Belgium | la Belgique f
Switzerland | la Suisse f
Greece | la Grèce f
Norway | la Norvège f
Sweden | la Suède f
Poland | la Pologne f
Ireland | l'Irlande f
Scotland | l'Écosse f
China | la Chine f
India | l'Inde f
Australia | l'Australie f
Austria | l'Autriche f
Finland | la Finlande f
Turkey | la Turquie f
Egypt | l'Égypte f
Argentina | l'Argentine f
Colombia | la Colombie f
Iceland | l'Islande f
Hungary | la Hongrie f
Japan | le Japon m
Canada | le Canada m
Brazil | le Brésil m
Portugal | le Portugal m
Morocco | le Maroc m
Mexico | le Mexique m
Peru | le Pérou m
Chile | le Chili m
Denmark | le Danemark m
Senegal | le Sénégal m
Kenya | le Kenya m
Vietnam | le Vietnam m
the United States | les États-Unis m
the Netherlands | les Pays-Bas m
"""
CITIES = """
Paris | Paris
London | Londres
Rome | Rome
Madrid | Madrid
Berlin | Berlin
Lisbon | Lisbonne
Vienna | Vienne
Brussels | Bruxelles
Geneva | Genève
Athens | Athènes
Lyon | Lyon
Marseille | Marseille
Bordeaux | Bordeaux
Toulouse | Toulouse
Tokyo | Tokyo
Montreal | Montréal
New York | New York
Boston | Boston
Chicago | Chicago
Venice | Venise
Florence | Florence
Milan | Milan
Dublin | Dublin
Oslo | Oslo
Prague | Prague
Moscow | Moscou
Barcelona | Barcelone
Amsterdam | Amsterdam
Edinburgh | Édimbourg
Warsaw | Varsovie
"""

# Places used with 'at' and 'to': à in French.
PLACES = """
library | bibliothèque f
airport | aéroport m
station | gare f
office | bureau m
school | école f
hospital | hôpital m
market | marché m
restaurant | restaurant m
hotel | hôtel m
theater | théâtre m
museum | musée m
university | université f
bakery | boulangerie f
beach | plage f
swimming pool | piscine f
post office | poste f
bank | banque f
pharmacy | pharmacie f
stadium | stade m
supermarket | supermarché m
"""
# Locations of things.
LOCATION_PHRASES = """
on the table | sur la table
under the table | sous la table
on the chair | sur la chaise
under the chair | sous la chaise
under the bed | sous le lit
on the bed | sur le lit
behind the door | derrière la porte
in front of the door | devant la porte
in the bag | dans le sac
in the suitcase | dans la valise
in the closet | dans l'armoire
in the drawer | dans le tiroir
in the kitchen | dans la cuisine
in the living room | dans le salon
in the bedroom | dans la chambre
in the garden | dans le jardin
in the car | dans la voiture
near the window | près de la fenêtre
near the lamp | près de la lampe
on the shelf | sur l'étagère
"""

MONTHS = """
January | janvier
February | février
March | mars
April | avril
May | mai
June | juin
July | juillet
August | août
September | septembre
October | octobre
November | novembre
December | décembre
"""
WEEKDAYS = """
Monday | lundi
Tuesday | mardi
Wednesday | mercredi
Thursday | jeudi
Friday | vendredi
Saturday | samedi
Sunday | dimanche
"""
SEASONS = """
in spring | au printemps
in summer | en été
in autumn | en automne
in winter | en hiver
"""
HABIT_TIMES = """
every day | tous les jours
every week | toutes les semaines
every month | tous les mois
every year | tous les ans
in the morning | le matin
in the evening | le soir
in the afternoon | l'après-midi
today | aujourd'hui
this week | cette semaine
this year | cette année
"""
PAST_TIMES = """
yesterday | hier
yesterday morning | hier matin
yesterday evening | hier soir
last week | la semaine dernière
last month | le mois dernier
last year | l'année dernière
last summer | l'été dernier
last winter | l'hiver dernier
this morning | ce matin
"""
FUTURE_TIMES = """
tomorrow | demain
tomorrow morning | demain matin
tomorrow evening | demain soir
next week | la semaine prochaine
next month | le mois prochain
next year | l'année prochaine
next summer | l'été prochain
next winter | l'hiver prochain
this evening | ce soir
"""
PERIODS = """
day | jour
week | semaine
month | mois
year | an
"""
MANNERS = """
well | bien
badly | mal
a lot | beaucoup
slowly | lentement
quickly | vite
"""
