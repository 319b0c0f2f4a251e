"""The stories of story_grammar.py with more plots, spoken words, and more names and things: the text of weights/stories.

    python3 -m train.more_stories --count 5 --seed 3
"""
import argparse
import random
import re

from train import story_grammar
from train.story_grammar import BOYS, COLOURS, FOODS, GIRLS, PLACES, ROOMS, TOYS, Person, Story, a

# Words that take the place of another of their kind in a whole story. All begin with a consonant, as those they replace.
MORE = [
    (GIRLS, ["Sara", "Ella", "Kate", "Zoe", "Molly", "Ruby", "Daisy", "Hana"]),
    (BOYS, ["Peter", "Bob", "Paul", "David", "Oscar", "Noah", "Will", "Hugo"]),
    ([toy for toy in TOYS if toy != "box"], ["balloon", "teddy bear", "robot", "puzzle", "rocket", "wagon", "flute", "lamp"]),
    ([food for food in FOODS if food[0] not in "aeiou"], ["peach", "sandwich", "banana", "pie", "muffin", "pancake"]),
    (COLOURS, ["pink", "purple", "brown", "golden", "silver"]),
]


def widen(rng, text):
    """Put other names, things, food and colours in, each in the place of one that the story has, from its start to its end."""
    swap = {}
    for words, more in MORE:
        more = rng.sample(more, len(more))
        for word in words:
            if more and rng.random() < 0.45 and re.search(rf"\b{word}\b", text):
                swap[word] = more.pop()
    return re.sub(r"\b(" + "|".join(swap) + r")\b", lambda match: swap[match[0]], text) if swap else text


def rainy_day(s):
    """It rains, the hero is bored, and a parent has an idea."""
    x = s.begin()
    noun, thing = s.thing()
    s.say(f"It was raining, and {x.name} could not go outside.", f"One day, it rained and rained. {x.name} had to stay inside.")
    s.say(f'"I do not know what to do," said {x.name}.', f'"I want to play outside," {x.he} said.')
    s.say(f'"Let us make {a(thing)} out of paper," said {x.his} {x.parent}.', f'"I have an idea," said {x.his} {x.parent}. "We can make {a(thing)}!"')
    s.say(f"They worked all morning, and the {noun} looked very nice.", f"{x.name} cut the paper, and {x.his} {x.parent} helped {x.him}.")
    s.say(f'"Look at my {thing}!" said {x.name}.', f"{x.name} put the {noun} {s.pick(*ROOMS)}.", f"{x.name} was proud of the {thing}.")
    s.say("Then the rain stopped, and the sun came out.", f"{x.name} did not hear that the rain had stopped.", f"At last, there was no more rain.")
    s.say(f"{x.He} ran outside and jumped into the puddles.", f'"Now I like rainy days," said {x.name}.', f"{x.name} hugged {x.his} {x.parent} and smiled.")


def birthday(s):
    """A friend has a birthday; the hero wonders what to give, and the gift is right."""
    x = s.begin()
    y = Person(s.rng, [x])
    noun, thing = s.thing()
    s.say(f"Today was the birthday of {y.name}, the best friend of {x.name}.", f"{y.name}, a good friend, had a birthday.")
    s.say(f'"What can I give {y.name}?" {x.name} asked {x.his} {x.parent}.', f"{x.name} did not know what to give {y.name}.")
    s.say(f'"Give {y.him} something that {y.he} likes," said {x.his} {x.parent}.', f"{x.his.capitalize()} {x.parent} told {x.him} to think of what {y.name} likes.")
    s.say(f"{x.name} thought of {a(thing)}.", f"{x.name} knew that {y.name} always wanted {a(thing)}.")
    s.say(f"{x.He} put the {noun} in a box and went to the party.", f"So {x.he} took the {thing} to the party.")
    s.say(f"{y.name} opened the gift and saw the {noun}.", f'"Is this for me?" asked {y.name}.', f"When {y.name} saw the {thing}, {y.he} jumped up and down.")
    s.say(f'"Thank you, {x.name}! I love it," said {y.name}.', f'"This is the best {noun} in the world!" said {y.name}.')
    s.say(f"They ate {a(s.pick(*FOODS))} and sang a song.", "They all danced and laughed.")
    s.end(x, y)


def lost_way(s):
    """The hero follows an animal, loses the way, and is led home."""
    x = s.begin()
    animal = s.pick("butterfly", "bird", "squirrel", "puppy", "deer")
    place = s.pick(*PLACES)
    s.go(x, place)
    s.say(f"{x.He} saw a {animal} and ran after it.", f"A little {animal} came by, and {x.name} wanted to see where it went.")
    s.say(f"The {animal} was very fast.", f"{x.name} ran and ran.", f'"Wait for me!" said {x.name}.')
    s.say(f"Soon {x.name} did not know the way home.", f"When {x.he} looked around, {x.name} was lost.")
    s.say(f"It got dark, and {x.name} was afraid.", f"{x.name} sat down and began to cry.", f'"Where am I?" {x.he} asked.')
    y = Person(s.rng, [x])
    s.say(f"Then {y.name} came along with a light.", f"But {y.name} heard {x.him} and came to help.")
    s.say(f'"Do not be afraid," said {y.name}. "I know the way."', f'"I can take you home," said {y.name}.')
    s.say(f"{y.name} took {x.his} hand, and they walked home together.", f"They walked and talked until they saw the house.")
    s.say(f"{x.his.capitalize()} {x.parent} was so happy to see {x.him}.", f'"There you are!" said {x.his} {x.parent}.')
    s.say(f"{x.name} thanked {y.name} and never went that far again.", f"After that, {x.name} and {y.name} were best friends.")


def baking(s):
    """Something is baked, something goes wrong, and it tastes good all the same."""
    x = s.begin()
    food = s.pick("cake", "pie", "cookie", "pancake", "muffin")
    y = Person(s.rng, [x])
    s.say(f"{x.name} wanted to make {a(food)} for {y.name}.", f'"Let us bake {a(food)}," said {x.name} to {y.name}.')
    s.say(f"{x.He} took flour, milk and an egg.", f"First, {x.he} put flour and milk in a bowl.", "They needed flour, sugar and an egg.")
    s.say(f"But {x.name} dropped the egg on the floor!", f"Oh no, there was no more sugar!", f"But the bowl fell down!")
    s.say(f'"It does not matter," said {y.name}. "We can try again."', f"{x.name} was sad, but {y.name} helped {x.him}.")
    s.say(f"They tried again, and this time it went well.", f"{y.name} ran home and came back with more.")
    s.say(f"Soon the kitchen smelled very good.", f"They waited and waited until the {food} was done.")
    s.say(f"The {food} was big and sweet.", f"It was the best {food} {x.he} ever had.")
    s.say(f'"Yum!" said {y.name}.', f'"Can I have some more?" asked {y.name}.', f"{y.name} ate it all up.")
    s.end(x, y)


def race(s):
    """Two race; one falls, and the other chooses to help."""
    x = s.begin()
    place = s.pick(*PLACES)
    y = s.meet(x, place)
    s.say(f'"I am faster than you," said {y.name}.', f'"Let us race to the {s.pick("big tree", "old gate", "bridge")}!" said {y.name}.')
    s.say(f'"One, two, three, go!" said {x.name}.', f"They ran as fast as they could.")
    s.say(f"{x.name} was fast, but {y.name} was faster.", f"First {y.name} was ahead, and then {x.name} was.")
    s.say(f"Suddenly, {y.name} fell down and hurt {y.his} knee.", f"Then {y.name} tripped over a stone.")
    s.say(f"{x.name} stopped to help.", f"{x.name} could win now, but {x.he} went back.")
    s.say(f'"Are you hurt?" asked {x.name}.', f'"Take my hand," said {x.name}.')
    s.say(f'"Why did you stop?" asked {y.name}. "You could win!"', f'"Thank you," said {y.name}. "You are a good friend."')
    s.say(f'"A friend is better than a race," said {x.name}.', f"{x.name} said that {y.name} was more important than the race.")
    s.end(x, y, game=False)


def garden(s):
    """A seed is planted, watered, and grows slowly."""
    x = s.begin()
    plant = s.pick("flower", "sunflower", "pumpkin", "tree", "carrot")
    s.say(f"{x.name} found a small seed {s.pick(*ROOMS)}.", f"{x.his.capitalize()} {x.parent} gave {x.him} a little seed.")
    s.say(f'"What is it?" asked {x.name}.', f'"If you plant it, you will see a surprise," said {x.his} {x.parent}.')
    s.say(f"{x.He} put the seed in the ground and gave it water.", f"{x.name} planted the seed in the garden.")
    s.say(f"Every day, {x.he} looked at the ground, but nothing happened.", f"One day went by, and then two, but there was nothing to see.")
    s.say(f'"Be patient," said {x.his} {x.parent}.', f"{x.name} wanted to give up, but {x.his} {x.parent} told {x.him} to wait.")
    s.say(f"Then it rained, and the sun was warm.", f"{x.name} gave it water every morning.")
    s.say(f"At last, there was something green!", f"One {s.pick('sunny', 'warm', 'bright')} morning, {x.he} saw a green leaf.")
    s.say(f"It grew and grew until it was a big {plant}.", f"In the summer, it was a beautiful {plant}.")
    s.say(f'"I made this!" said {x.name}.', f"{x.name} was very proud of the {plant}.", f"{x.name} learned that good things take time.")


def make_story(rng):
    if rng.random() < 0.5:
        text = story_grammar.make_story(rng)
    else:
        story = Story(rng)
        rng.choice([rainy_day, birthday, lost_way, baking, race, garden])(story)
        text = story.text()
    return widen(rng, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for _ in range(options.count):
        print(make_story(rng))
