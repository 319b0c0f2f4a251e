# A table of contents behind the title of every page but the first. Its line was empty.
1{
/{#mainpage}/b
n
s/^$/\\tableofcontents/
}
# Doxygen closes <details> at the end of each paragraph: as plain HTML, the tags stay where they are.
/^<\/\{0,1\}\(details\|summary\).*>$/{
s|`\([^`]*\)`|<code>\1</code>|g
s|.*|\\htmlonly[block]&\\endhtmlonly|
}
