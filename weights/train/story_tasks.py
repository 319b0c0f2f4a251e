"""Lines "a => b" of three tasks, which weights/stories learns beside its stories: synonyms, years of events, French words.

    python3 -m train.story_tasks --count 5 --seed 3
A text is one line alone (zero-shot) or one to five lines as examples and one more of the same task (few-shot). Some pairs
are kept out of one form or of both, so that one can tell what a model has learned by heart from what it works out.
"""
import argparse
import random

SYNONYMS = """big large|small little|happy glad|sad unhappy|fast quick|smart clever|begin start|end finish|angry mad|cold chilly
loud noisy|quiet silent|brave bold|kind nice|pretty lovely|rich wealthy|strong mighty|tired sleepy|funny silly|hard difficult
easy simple|near close|shut closed|scared afraid|home house|road street|stone rock|boat ship|forest woods|gift present
friend pal|shout yell|cry weep|jump leap|look see|talk speak|walk stroll|help aid|fix repair|choose pick
hide conceal|throw toss|trip journey|story tale|sick ill|wet soaked|odd strange|dirty filthy|clean tidy|empty bare
bright shiny|calm peaceful|smell scent|error mistake|answer reply|rest relax|reach arrive|whole entire|correct right|famous known"""

YEARS = """moon landing 1969|fall of the Berlin Wall 1989|French Revolution 1789|first powered flight 1903|sinking of the Titanic 1912
end of World War II 1945|start of World War I 1914|Columbus reaches America 1492|battle of Hastings 1066|battle of Waterloo 1815
Magna Carta 1215|first man in space 1961|Great Fire of London 1666|Declaration of Independence 1776|Russian Revolution 1917
discovery of penicillin 1928|fall of Constantinople 1453|first modern Olympics 1896|launch of Sputnik 1957|eruption of Vesuvius 79
opening of the Suez Canal 1869|opening of the Panama Canal 1914|Chernobyl accident 1986|crowning of Charlemagne 800
start of World War II 1939|end of World War I 1918|Wall Street crash 1929|first telephone call 1876|discovery of X-rays 1895
opening of the Eiffel Tower 1889|Spanish Armada 1588|fall of Rome 476|first climb of Everest 1953|Boston Tea Party 1773
death of Lincoln 1865|death of Kennedy 1963|San Francisco earthquake 1906|Lisbon earthquake 1755|Origin of Species 1859
death of Napoleon 1821|birth of Mozart 1756|death of Mozart 1791|birth of Shakespeare 1564|death of Shakespeare 1616
birth of Einstein 1879|birth of Darwin 1809|first heart transplant 1967|birth of Dolly the sheep 1996|first World Cup 1930
Luther's theses 1517|Thirty Years' War begins 1618|Peace of Westphalia 1648|South Pole reached 1911|first Nobel Prizes 1901"""

FRENCH = """cheese fromage|bread pain|water eau|milk lait|apple pomme|house maison|cat chat|dog chien|sun soleil|moon lune
sea mer|river rivière|forest forêt|tree arbre|flower fleur|bird oiseau|fish poisson|horse cheval|cow vache|rabbit lapin
mouse souris|bear ours|fox renard|frog grenouille|duck canard|king roi|queen reine|boy garçon|girl fille|friend ami
mother mère|father père|brother frère|sister sœur|child enfant|man homme|woman femme|hand main|head tête|heart cœur
book livre|door porte|window fenêtre|table table|chair chaise|bed lit|kitchen cuisine|garden jardin|school école|city ville
road route|boat bateau|train train|car voiture|ball balle|hat chapeau|box boîte|gift cadeau|bell cloche|doll poupée
red rouge|blue bleu|green vert|yellow jaune|white blanc|black noir|big grand|small petit|happy heureux|sad triste
cold froid|hot chaud|new nouveau|old vieux|good bon|bad mauvais|fast rapide|slow lent|strong fort|pretty joli
one un|two deux|three trois|four quatre|five cinq|six six|seven sept|eight huit|nine neuf|ten dix
day jour|night nuit|summer été|winter hiver|rain pluie|snow neige|wind vent|star étoile|sky ciel|hello bonjour"""


def pairs_of(text):
    """The last word is the answer, what stands before it the question."""
    return [tuple(entry.rsplit(" ", 1)) for entry in text.replace("\n", "|").split("|")]


# Name -> the line that may stand above the others, and the pairs.
TASKS = {
    "synonyms": ("Synonyms:", pairs_of(SYNONYMS)),
    "years": ("Years of events:", pairs_of(YEARS)),
    "french": ("Translate English to French:", pairs_of(FRENCH)),
}


def group(i):
    """Where pair i of a task may stand: of ten, five everywhere, two in few-shot texts, two in zero-shot texts, one nowhere."""
    return ("everywhere", "few-shot only", "zero-shot only", "nowhere")[(0, 0, 0, 0, 0, 1, 1, 2, 2, 3)[i % 10]]


def lines_of(task, *groups):
    """The pairs of these groups. A synonym also stands the other way round, where its place in the list is even."""
    pairs = [(pair, i) for i, pair in enumerate(TASKS[task][1]) if group(i) in groups]
    turned = [(b, a) for (a, b), i in pairs if i % 2 == 0] if task == "synonyms" else []
    return [pair for pair, _ in pairs] + turned


LINES = {task: {False: lines_of(task, "everywhere", "zero-shot only"), True: lines_of(task, "everywhere", "few-shot only")}
         for task in TASKS}
MOST_EXAMPLES = 5


def prompt_text(task, question, examples=(), header=False):
    """What a model gets to complete: it ends in " =>"."""
    lines = [TASKS[task][0]] if header else []
    lines += [f"{a} => {b}" for a, b in examples]
    return "\n".join(lines + [f"{question} =>"])


def make_lines(rng):
    """A text of one task. After each line it is a little more likely to end than to go on."""
    task = rng.choice(list(TASKS))
    few = rng.random() < 0.45
    lines = LINES[task][few]
    count = 1
    while few and (count == 1 or (count <= MOST_EXAMPLES and rng.random() < 0.48)):
        count += 1
    *examples, (question, answer) = rng.sample(lines, count)
    return f"{prompt_text(task, question, examples, rng.random() < 0.3)} {answer}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print("\n\n".join(make_lines(rng) for _ in range(options.count)))
